#include "report/text/syscall_words.h"

#include <errno.h>
#include <string.h>

#include "base/syscall.h"
#include "base/text.h"
#include "base/units.h"
#include "report/markdown/grid.h"
#include "report/text/scope_words.h"

#define NAME_MAX_LEN 100u /* characters of a name in a table */
#define ROWS_MAX 15u	  /* calls in Markdown */
#define SITES_MAX 10u	  /* places in Markdown */

/* Those that these calls give; numbers are the machine's own, and traces stay on one kind of machine. */
static const struct {
	int error;
	const char *name;
} errors[] = {
#define ERROR(name) {name, #name}
	ERROR(EPERM),	   ERROR(ENOENT),      ERROR(EINTR),	    ERROR(EIO),		 ERROR(ENXIO),
	ERROR(E2BIG),	   ERROR(ENOEXEC),     ERROR(EBADF),	    ERROR(ECHILD),	 ERROR(EAGAIN),
	ERROR(ENOMEM),	   ERROR(EACCES),      ERROR(EFAULT),	    ERROR(EBUSY),	 ERROR(EEXIST),
	ERROR(ENODEV),	   ERROR(ENOTDIR),     ERROR(EISDIR),	    ERROR(EINVAL),	 ERROR(ENFILE),
	ERROR(EMFILE),	   ERROR(ENOTTY),      ERROR(ETXTBSY),	    ERROR(EFBIG),	 ERROR(ENOSPC),
	ERROR(ESPIPE),	   ERROR(EROFS),       ERROR(EPIPE),	    ERROR(ENAMETOOLONG), ERROR(ENOSYS),
	ERROR(ELOOP),	   ERROR(EOVERFLOW),   ERROR(ENOTSOCK),	    ERROR(EDESTADDRREQ), ERROR(EMSGSIZE),
	ERROR(EPROTOTYPE), ERROR(EOPNOTSUPP),  ERROR(EAFNOSUPPORT), ERROR(EADDRINUSE),	 ERROR(EADDRNOTAVAIL),
	ERROR(ENETDOWN),   ERROR(ENETUNREACH), ERROR(ECONNABORTED), ERROR(ECONNRESET),	 ERROR(ENOBUFS),
	ERROR(EISCONN),	   ERROR(ENOTCONN),    ERROR(ETIMEDOUT),    ERROR(ECONNREFUSED), ERROR(EHOSTUNREACH),
	ERROR(EALREADY),   ERROR(EINPROGRESS), ERROR(ESTALE),	    ERROR(EDQUOT),	 ERROR(ECANCELED),
};

static const char *errno_name(uint32_t error)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if ((uint32_t)errors[i].error == error)
			return errors[i].name;
	}
	return NULL;
}

void isc_syscall_words_errno(isc_buffer *out, uint32_t error)
{
	const char *name = errno_name(error);

	if (name != NULL)
		isc_buffer_text(out, name);
	else
		isc_buffer_format(out, "errno %u", error);
}

static void add_fails(isc_grid *t, const isc_analysis_syscall *s)
{
	isc_units u;

	if (s->errors > 0)
		isc_buffer_text(&t->text, isc_units_count(&u, s->errors));
	for (size_t i = 0; i < s->fail_count && i < 3; i++) {
		isc_buffer_text(&t->text, i == 0 ? " (" : ", ");
		isc_syscall_words_errno(&t->text, s->fails[i].error);
	}
	isc_buffer_text(&t->text, s->fail_count > 3 ? ", ...)" : s->fail_count > 0 ? ")" : "");
	isc_grid_end(t);
}

static void add_where(isc_grid *t, const isc_analysis_frame *at)
{
	isc_buffer raw = {0};

	isc_scope_words_place(&raw, at);
	t->text.failed |= raw.failed;
	isc_text_markdown(&t->text, raw.data, raw.len, NAME_MAX_LEN);
	isc_grid_end(t);
	isc_buffer_fini(&raw);
}

struct site {
	const isc_analysis_syscall *call;
	const isc_analysis_syscall_site *at;
};

static double time_of(const struct site *s)
{
	return s->at->total_us + s->at->fast_us;
}

/* The places of all calls, most time first. */
static size_t pick_sites(const isc_analysis *a, struct site *out)
{
	size_t n = 0;

	for (size_t i = 0; i < a->syscall_count; i++) {
		for (size_t k = 0; k < a->syscalls[i].site_count; k++) {
			struct site s = {&a->syscalls[i], &a->syscalls[i].sites[k]};
			size_t at = n < SITES_MAX ? n : SITES_MAX;

			if (s.at->where.name.len == 0)
				continue;
			while (at > 0 && time_of(&out[at - 1]) < time_of(&s)) {
				if (at < SITES_MAX)
					out[at] = out[at - 1];
				at--;
			}
			if (at < SITES_MAX)
				out[at] = s;
			n += n < SITES_MAX;
		}
	}
	return n;
}

static void add_cell(isc_grid *t, bool is_known, const char *text)
{
	isc_grid_cell(t, is_known ? text : "");
}

/* "~ 60,000": an estimate, and nothing where there is none. */
static void add_about(isc_grid *t, bool is_known, const char *text)
{
	if (is_known)
		isc_buffer_format(&t->text, "~ %s", text);
	isc_grid_end(t);
}

static void write_sites(const isc_analysis *a, isc_buffer *out)
{
	static const char *const titles[] = {"call",	 "where", ">slow",	  ">their total",
					     ">longest", ">fast", ">their total", NULL};
	static const char *const titles_about[] = {
		"call", "where", ">slow", ">their total", ">longest", ">fast", ">their total", "longest of", NULL};
	struct site sites[SITES_MAX];
	size_t n = pick_sites(a, sites);
	bool about = false;
	isc_units u;
	isc_grid t;

	for (size_t i = 0; i < n; i++)
		about |= sites[i].at->about.len > 0;
	if (n == 0)
		return;
	isc_grid_init(&t, about ? titles_about : titles);
	for (size_t i = 0; i < n; i++) {
		const isc_analysis_syscall_site *at = sites[i].at;

		isc_grid_cell(&t, sites[i].call->name);
		add_where(&t, &at->where);
		add_cell(&t, at->count > 0, isc_units_count(&u, at->count));
		add_cell(&t, at->count > 0, isc_units_time(&u, at->total_us));
		add_cell(&t, at->count > 0, isc_units_time(&u, at->max_us));
		add_about(&t, at->samples > 0, isc_units_count(&u, (uint64_t)(at->fast_count + 0.5)));
		add_about(&t, at->samples > 0, isc_units_time(&u, at->fast_us));
		if (at->about.len > 0)
			isc_text_markdown(&t.text, at->about.at, at->about.len, NAME_MAX_LEN);
		if (about)
			isc_grid_end(&t);
	}
	isc_buffer_format(
		out,
		"\nBy the line that made them: those that took longer than %u us, and of the others what one in "
		"about a thousand says:\n\n",
		ISC_SYSCALL_SLOW_US);
	isc_grid_close(&t, out);
}

void isc_syscall_markdown(const isc_analysis *a, isc_buffer *out)
{
	static const char *const titles[] = {"call", ">count", ">total", ">mean", ">slow", ">bytes", ">errors", NULL};
	size_t rows = a->syscall_count < ROWS_MAX ? a->syscall_count : ROWS_MAX;
	isc_units u;
	isc_grid t;

	if (a->syscall_count == 0)
		return;
	isc_grid_init(&t, titles);
	isc_buffer_text(out, "\n## System calls\n\n");
	for (size_t i = 0; i < rows; i++) {
		const isc_analysis_syscall *s = &a->syscalls[i];

		isc_grid_cell(&t, s->name);
		isc_grid_count(&t, s->count);
		isc_grid_time(&t, s->total_us);
		isc_grid_time(&t, s->count > 0 ? s->total_us / (double)s->count : -1);
		isc_grid_count(&t, s->slow);
		if (s->bytes > 0)
			isc_buffer_text(&t.text, isc_units_count(&u, s->bytes));
		isc_grid_end(&t);
		add_fails(&t, s);
	}
	isc_grid_close(&t, out);
	isc_grid_more(out, rows, a->syscall_count);
	write_sites(a, out);
}

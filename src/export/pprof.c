/*
 * pprof.c - profile.proto, gzipped: what `go tool pprof` and its many relatives read.
 *
 * With samples: how many, the CPU time that they stand for, and wall time, which
 * adds the waits.  Without: calls and the own time of functions, traced.  Where memory was
 * recorded, how many allocations and bytes besides.  Thread and state are labels.
 */
#include <stdlib.h>
#include <zlib.h>

#include "base/text.h"
#include "export/paths.h"
#include "export/wire.h"

enum { SAMPLE_TYPE = 1, SAMPLE = 2, MAPPING = 3, LOCATION = 4, FUNCTION = 5, STRINGS = 6 };
enum { TIME_NANOS = 9, DURATION_NANOS = 10, COMMENT = 13, DEFAULT_TYPE = 14 };

#define DEPTH_MAX 4096u

typedef struct pprof {
	isc_sink sink;
	isc_paths paths;
	isc_buffer profile, message, inner, clean;
	isc_hashmap strings; /* hash -> number + 1; the texts are compared by their place in the table */
	struct string {
		uint64_t from;
		size_t len, next;
	} *string;
	size_t string_count, string_room;
	isc_buffer string_bytes;
	isc_hashmap mappings; /* number of the path -> mapping */
	uint64_t last_ns;
	z_stream zip;
	bool failed;
} pprof;

static isc_sink *begin(isc_trace *trace, isc_export_out *out)
{
	pprof *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->sink = (isc_sink){.listener = {.trace = trace}, .out = out};
	p->paths.frames = (isc_frames){.trace = trace, .out = out, .by_line = true};
	p->paths.apart = true;
	return &p->sink;
}

static void open_slice(isc_listener *self, const isc_slice *s)
{
	isc_paths_open(&((pprof *)self)->paths, s);
}

static void close_slice(isc_listener *self, const isc_slice *s)
{
	pprof *p = (pprof *)self;

	p->last_ns = s->end_ns > p->last_ns ? s->end_ns : p->last_ns;
	isc_paths_close(&p->paths, s);
}

static void sample(isc_listener *self, const isc_listener_sample *s)
{
	pprof *p = (pprof *)self;

	p->last_ns = s->time_ns > p->last_ns ? s->time_ns : p->last_ns;
	isc_paths_sample(&p->paths, s);
}

static void memory(isc_listener *self, const isc_listener_memory *m)
{
	isc_paths_memory(&((pprof *)self)->paths, m);
}

/* ---- the string table ----------------------------------------------------- */

static uint64_t string_number(pprof *p, const char *text, size_t len)
{
	uint64_t hash = 14695981039346656037ull, *first;
	struct string *s;

	isc_buffer_clear(&p->clean);
	isc_text_utf8(&p->clean, text, len);
	for (size_t i = 0; i < p->clean.len; i++)
		hash = (hash ^ (unsigned char)p->clean.data[i]) * 1099511628211ull;
	first = isc_hashmap_put(&p->strings, hash, NULL);
	if (first == NULL || p->clean.failed) {
		p->failed = true;
		return 0;
	}
	for (size_t i = (size_t)*first; i != 0; i = p->string[i - 1].next) {
		s = &p->string[i - 1];
		if (s->len == p->clean.len && memcmp(p->string_bytes.data + s->from, p->clean.data, s->len) == 0)
			return i - 1;
	}
	if (p->string_count == p->string_room) {
		size_t room = p->string_room != 0 ? p->string_room * 2 : 256;

		s = realloc(p->string, room * sizeof(*s));
		if (s == NULL) {
			p->failed = true;
			return 0;
		}
		p->string = s;
		p->string_room = room;
	}
	p->string[p->string_count++] = (struct string){p->string_bytes.len, p->clean.len, (size_t)*first};
	*first = p->string_count;
	isc_buffer_add(&p->string_bytes, p->clean.len > 0 ? p->clean.data : "", p->clean.len);
	return p->string_count - 1;
}

static uint64_t words(pprof *p, const char *text)
{
	return string_number(p, text, strlen(text));
}

static uint64_t text_number(pprof *p, const isc_text *text)
{
	return string_number(p, text->at, text->len);
}

/* ---- the profile ----------------------------------------------------------- */

static void finish_message(pprof *p, unsigned field)
{
	isc_wire_message(&p->profile, field, &p->message);
	isc_buffer_clear(&p->message);
}

static void add_type(pprof *p, const char *type, const char *unit)
{
	isc_wire_number(&p->message, 1, words(p, type));
	isc_wire_number(&p->message, 2, words(p, unit));
	finish_message(p, SAMPLE_TYPE);
}

static void add_label(pprof *p, const char *key, const isc_text *text, uint64_t number)
{
	isc_buffer_clear(&p->inner);
	isc_wire_number(&p->inner, 1, words(p, key));
	if (text != NULL)
		isc_wire_number(&p->inner, 2, text_number(p, text));
	else
		isc_wire_number(&p->inner, 3, number);
	isc_wire_message(&p->message, 3, &p->inner);
}

static void add_row(pprof *p, const isc_path_row *row)
{
	size_t frames[DEPTH_MAX], n = isc_paths_frames(&p->paths, row->node, frames, DEPTH_MAX);
	uint64_t values[5] = {row->samples, row->cpu_ns, row->wall_ns};
	isc_text state = {row->state, (uint32_t)strlen(row->state)};
	size_t count = p->paths.sampled ? 3 : 2;

	if (!p->paths.sampled) {
		values[0] = row->calls;
		values[1] = row->self_ns;
	} else if (row->wall_ns == 0 && row->allocations <= 0) {
		return; /* by its calls alone: samples tell of that time */
	}
	if (p->paths.memory) {
		values[count++] = (uint64_t)(row->allocations + 0.5);
		values[count++] = (uint64_t)(row->allocated + 0.5);
	}
	isc_buffer_clear(&p->inner);
	for (size_t i = 0; i < n; i++)
		isc_wire_varint(&p->inner, frames[i] + 1);
	isc_wire_message(&p->message, 1, &p->inner);
	isc_buffer_clear(&p->inner);
	for (size_t i = 0; i < count; i++)
		isc_wire_varint(&p->inner, values[i]);
	isc_wire_message(&p->message, 2, &p->inner);
	add_label(p, "state", &state, 0);
	add_label(p, "thread", &row->on->name, 0);
	add_label(p, "thread_id", NULL, row->on->tid);
	add_label(p, "process_id", NULL, row->on->pid);
	finish_message(p, SAMPLE);
}

/* Modules with what identifies them, as the definitions have them. */
static void add_mappings(pprof *p)
{
	static const char hex[] = "0123456789abcdef";
	uint32_t process, id, len;
	uint16_t type;
	const char *data;

	if (p->sink.listener.trace == NULL)
		return;
	for (size_t i = 0; (data = isc_trace_define_at(p->sink.listener.trace, i, &process, &id, &type, &len)) != NULL;
	     i++) {
		isc_def_module module;
		uint64_t path, *known;
		char build[128];
		size_t n = 0;

		if (type != ISC_DEF_MODULE || len < sizeof(module))
			continue;
		memcpy(&module, data, sizeof(module));
		len -= (uint32_t)sizeof(module);
		if (module.build_len > len || module.path_len > len - module.build_len)
			continue;
		path = string_number(p, data + sizeof(module) + module.build_len, module.path_len);
		known = isc_hashmap_put(&p->mappings, path, NULL);
		if (known == NULL || *known != 0) {
			p->failed |= known == NULL;
			continue;
		}
		*known = p->mappings.count;
		for (uint32_t b = 0; b < module.build_len && n + 2 <= sizeof(build); b++) {
			unsigned char byte = (unsigned char)data[sizeof(module) + b];

			build[n++] = hex[byte >> 4];
			build[n++] = hex[byte & 15];
		}
		isc_wire_number(&p->message, 1, *known);
		isc_wire_number(&p->message, 2, module.start);
		isc_wire_number(&p->message, 3, module.end);
		isc_wire_number(&p->message, 4, module.start - module.bias);
		isc_wire_number(&p->message, 5, path);
		isc_wire_number(&p->message, 6, string_number(p, build, n));
		isc_wire_number(&p->message, 7, 1);
		finish_message(p, MAPPING);
	}
}

/* A location is a frame, and has one function. */
static void add_location(pprof *p, size_t number)
{
	const isc_export_frame *f = &p->paths.frames.frame[number];
	const uint64_t *mapping = NULL;
	uint64_t name = text_number(p, &f->name);

	if (f->module.len > 0)
		mapping = isc_hashmap_find(&p->mappings, text_number(p, &f->module));
	isc_buffer_clear(&p->inner);
	isc_wire_number(&p->inner, 1, number + 1);
	isc_wire_number(&p->inner, 2, f->line);
	isc_wire_number(&p->message, 1, number + 1);
	if (mapping != NULL)
		isc_wire_number(&p->message, 2, *mapping);
	isc_wire_message(&p->message, 4, &p->inner);
	finish_message(p, LOCATION);
	isc_wire_number(&p->message, 1, number + 1);
	isc_wire_number(&p->message, 2, name);
	isc_wire_number(&p->message, 3, name);
	isc_wire_number(&p->message, 4, text_number(p, f->file.len > 0 ? &f->file : &f->module));
	isc_wire_number(&p->message, 5, f->first_line);
	finish_message(p, FUNCTION);
}

/* ---- compressed -------------------------------------------------------------- */

static void zip(pprof *p, int flush)
{
	p->zip.next_in = (unsigned char *)p->profile.data;
	p->zip.avail_in = (unsigned)p->profile.len;
	do {
		unsigned char *room = isc_buffer_room(&p->sink.out->text, 65536);

		if (room == NULL)
			break;
		p->zip.next_out = room;
		p->zip.avail_out = 65536;
		deflate(&p->zip, flush);
		p->sink.out->text.len -= p->zip.avail_out;
		isc_export_send(p->sink.out, false);
	} while (p->zip.avail_out == 0);
	p->failed |= p->profile.failed;
	isc_buffer_clear(&p->profile);
}

static void zip_some(pprof *p)
{
	if (p->profile.len > 1u << 20)
		zip(p, Z_NO_FLUSH);
}

static void write_profile(pprof *p)
{
	words(p, "");
	if (p->paths.sampled) {
		add_type(p, "samples", "count");
		add_type(p, "cpu", "nanoseconds");
		add_type(p, "wall", "nanoseconds");
	} else {
		add_type(p, "calls", "count");
		add_type(p, "wall", "nanoseconds");
	}
	if (p->paths.memory) {
		add_type(p, "alloc_objects", "count");
		add_type(p, "alloc_space", "bytes");
	}
	for (size_t i = 0; i < p->paths.row_count; i++, zip_some(p))
		add_row(p, &p->paths.row[i]);
	add_mappings(p);
	for (size_t i = 0; i < p->paths.frames.count; i++, zip_some(p))
		add_location(p, i);
	if (p->sink.listener.trace != NULL)
		isc_wire_number(&p->profile, TIME_NANOS, isc_trace_header(p->sink.listener.trace)->start_unix_ns);
	isc_wire_number(&p->profile, DURATION_NANOS, p->last_ns);
	isc_wire_number(&p->profile, COMMENT, words(p, ISC_EXPORT_MARK));
	/* Of several a reader takes the last, and that would be memory. */
	isc_wire_number(&p->profile, DEFAULT_TYPE, words(p, "wall"));
	for (size_t i = 0; i < p->string_count; i++, zip_some(p))
		isc_wire_bytes(&p->profile, STRINGS, p->string_bytes.data + p->string[i].from, p->string[i].len);
	zip(p, Z_FINISH);
}

static void end(isc_sink *self, const isc_export_result *result)
{
	pprof *p = (pprof *)self;

	(void)result;
	if (p->paths.failed || deflateInit2(&p->zip, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		p->failed = true;
	} else {
		write_profile(p);
		deflateEnd(&p->zip);
	}
	if (p->failed || p->string_bytes.failed)
		self->out->text.failed = true;
	isc_paths_fini(&p->paths);
	isc_buffer_fini(&p->profile);
	isc_buffer_fini(&p->message);
	isc_buffer_fini(&p->inner);
	isc_buffer_fini(&p->clean);
	isc_buffer_fini(&p->string_bytes);
	isc_hashmap_fini(&p->strings);
	isc_hashmap_fini(&p->mappings);
	free(p->string);
	free(p);
}

const isc_sink_class isc_sink_pprof = {
	.timeless = true,
	.begin = begin,
	.hears = {.texts = true,
		  .open = open_slice,
		  .close = close_slice,
		  .sample = sample,
		  .memory = memory,
		  .after = isc_export_after},
	.end = end,
};

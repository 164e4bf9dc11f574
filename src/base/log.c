#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

#define PREFIX "inferscope: "

/* As isc_text_terminal(), but without memory of its own: "no memory" is a
 * message too.  Cut between characters when there is no room; returns the length. */
static size_t escape(const char *text, size_t len, char *out, size_t room)
{
	size_t used = 0;

	for (size_t i = 0; i < len;) {
		char piece[16];
		uint32_t c = 0;
		size_t n = isc_text_decode(text + i, len - i, &c), need;

		if (n == 0)
			need = (size_t)snprintf(piece, sizeof(piece), "\\x%02x", (unsigned char)text[i]);
		else if (c == '\n' || c == '\t' || c == '\r')
			need = (size_t)snprintf(piece, sizeof(piece), "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
		else if (isc_text_is_control(c))
			need = (size_t)snprintf(piece, sizeof(piece),
						c < 0x100     ? "\\x%02x"
						: c < 0x10000 ? "\\u%04x"
							      : "\\U%08x",
						(unsigned)c);
		else
			memcpy(piece, text + i, need = n);
		if (used + need > room)
			break;
		memcpy(out + used, piece, need);
		used += need;
		i += n ? n : 1;
	}
	return used;
}

void isc_log_write(const isc_log *log, int level, const char *format, ...)
{
	char raw[ISC_LOG_LINE_MAX];
	char line[ISC_LOG_LINE_MAX] = PREFIX;
	size_t used = strlen(PREFIX);
	va_list args;
	int len;

	if (log->sink == NULL || level < log->level)
		return;
	va_start(args, format);
	len = vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	if (len < 0)
		return;
	used += escape(raw, strlen(raw), line + used, sizeof(line) - used - 1);
	line[used++] = '\n';
	log->sink(log->self, level, line, used);
}

void isc_log_error(const isc_log *log, int level, const isc_error *err)
{
	if (err->hint[0])
		isc_log_write(log, level, "%s; %s", err->what, err->hint);
	else
		isc_log_write(log, level, "%s", err->what);
}

void isc_log_to_fd(void *self, int level, const char *line, size_t len)
{
	const int *fd = self;
	ssize_t n;

	(void)level;
	/* A second write for the rest would tear the line; a lost message is the smaller harm. */
	do {
		n = write(*fd, line, len);
	} while (n < 0 && errno == EINTR);
}

#include "base/text.h"

#include <string.h>
#include <strings.h>

size_t isc_text_decode(const char *at, size_t len, uint32_t *codepoint)
{
	const unsigned char *s = (const unsigned char *)at;
	uint32_t c, least;
	size_t n;

	if (len == 0)
		return 0;
	if (s[0] < 0x80) {
		*codepoint = s[0];
		return 1;
	}
	if (s[0] >= 0xf0 && s[0] < 0xf8) {
		n = 4;
		c = s[0] & 0x07;
		least = 0x10000;
	} else if (s[0] >= 0xe0 && s[0] < 0xf0) {
		n = 3;
		c = s[0] & 0x0f;
		least = 0x800;
	} else if (s[0] >= 0xc0 && s[0] < 0xe0) {
		n = 2;
		c = s[0] & 0x1f;
		least = 0x80;
	} else {
		return 0;
	}
	if (n > len)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3fu);
	}
	if (c < least || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*codepoint = c;
	return n;
}

bool isc_text_is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0)	 /* C0, DEL, C1: terminals obey them */
	       || c == 0xad || c == 0x61c || c == 0x180e /* soft hyphen, Arabic mark, vowel separator */
	       || (c >= 0x200b && c <= 0x200f)		 /* no width, direction marks */
	       || (c >= 0x2028 && c <= 0x202e)		 /* separators, direction overrides */
	       || (c >= 0x2060 && c <= 0x206f)		 /* invisible operators, isolates */
	       || c == 0xfeff || (c >= 0xfff0 && c <= 0xfffb) ||
	       (c >= 0xe0000 && c <= 0xe0fff) /* tags: text that nobody sees */
	       || (c & 0xfffe) == 0xfffe;
}

/* One piece of text as it is shown: a character, or the escape of one. */
struct text_piece {
	char text[12];
	size_t len;
	size_t taken;	    /* bytes of the source */
	uint32_t codepoint; /* 0: text is an escape */
};

static void put_hex(struct text_piece *p, const char *lead, uint32_t value, int digits)
{
	static const char hex[] = "0123456789abcdef";

	p->len = strlen(lead);
	memcpy(p->text, lead, p->len);
	while (digits-- > 0)
		p->text[p->len++] = hex[value >> (4 * digits) & 15];
	p->codepoint = 0;
}

static void next_piece(const char *at, size_t len, struct text_piece *p)
{
	uint32_t c = 0;

	p->taken = isc_text_decode(at, len, &c);
	if (p->taken == 0) {
		p->taken = 1;
		put_hex(p, "\\x", (unsigned char)at[0], 2);
	} else if (c == '\n' || c == '\t' || c == '\r') {
		put_hex(p, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r", 0, 0);
	} else if (isc_text_is_control(c)) {
		if (c < 0x100)
			put_hex(p, "\\x", c, 2);
		else if (c < 0x10000)
			put_hex(p, "\\u", c, 4);
		else
			put_hex(p, "\\U", c, 8);
	} else {
		memcpy(p->text, at, p->taken);
		p->len = p->taken;
		p->codepoint = c;
	}
}

typedef void (*piece_writer)(isc_buffer *out, const struct text_piece *p);

static void write_pieces(isc_buffer *out, const char *text, size_t len, size_t max, piece_writer write)
{
	struct text_piece p;
	size_t shown = 0;

	while (len > 0) {
		if (max > 0 && shown == max) {
			isc_buffer_text(out, "...");
			return;
		}
		next_piece(text, len, &p);
		write(out, &p);
		text += p.taken;
		len -= p.taken;
		shown++;
	}
}

static void write_plain(isc_buffer *out, const struct text_piece *p)
{
	isc_buffer_add(out, p->text, p->len);
}

void isc_text_terminal(isc_buffer *out, const char *text, size_t len, size_t max)
{
	write_pieces(out, text, len, max, write_plain);
}

static void write_html(isc_buffer *out, const struct text_piece *p)
{
	if (p->codepoint != 0 && p->codepoint < 0x80 && strchr("&<>\"'`", (int)p->codepoint) != NULL)
		isc_buffer_format(out, "&#%u;", (unsigned)p->codepoint);
	else
		isc_buffer_add(out, p->text, p->len);
}

void isc_text_html(isc_buffer *out, const char *text, size_t len, size_t max)
{
	write_pieces(out, text, len, max, write_html);
}

/* Renderers differ in small things, so whatever any of them treats as its own
 * becomes an entity.  Some look for @names, #numbers and addresses in the text
 * that comes out; an empty comment keeps the halves apart. */
static void write_escaped(isc_buffer *out, const struct text_piece *p, const char *harmless)
{
	for (size_t i = 0; i < p->len; i++) {
		unsigned char c = (unsigned char)p->text[i];

		if (c >= 0x80 || c == ' ' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
		    (c >= 'A' && c <= 'Z') || strchr(harmless, c) != NULL)
			isc_buffer_add(out, &p->text[i], 1);
		else
			isc_buffer_format(out, c == '@' || c == '#' ? "&#%u;<!-- -->" : "&#%u;", c);
	}
}

static void write_entity(isc_buffer *out, const struct text_piece *p)
{
	write_escaped(out, p, "");
}

static void write_prose(isc_buffer *out, const struct text_piece *p)
{
	write_escaped(out, p, ",;()-%/=+?'");
}

/* Escapes bring a backslash, so a text with one in it is no code span either. */
static bool fits_code_span(const char *text, size_t len)
{
	struct text_piece p;

	if (len == 0 || text[0] == ' ' || text[len - 1] == ' ')
		return false;
	for (; len > 0; text += p.taken, len -= p.taken) {
		next_piece(text, len, &p);
		if (p.codepoint == 0 || (p.codepoint < 0x80 && strchr("`|\\<>", (int)p.codepoint) != NULL))
			return false;
	}
	return true;
}

void isc_text_markdown(isc_buffer *out, const char *text, size_t len, size_t max)
{
	if (len == 0) {
		isc_buffer_text(out, "*(none)*");
	} else if (fits_code_span(text, len)) {
		isc_buffer_text(out, "`");
		write_pieces(out, text, len, max, write_plain);
		isc_buffer_text(out, "`");
	} else {
		isc_buffer_text(out, "<code>");
		write_pieces(out, text, len, max, write_entity);
		isc_buffer_text(out, "</code>");
	}
}

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Punctuation that a sentence is full of, where it is neither part of an address
 * nor emphasis. */
static bool is_punctuation(const char *text, size_t len, size_t at)
{
	bool blank_next = at + 1 == len || text[at + 1] == ' ';

	switch (text[at]) {
	case ':':
		return blank_next;
	case '.':
		return blank_next || !(at >= 3 && strncasecmp(text + at - 3, "www", 3) == 0);
	case '_':
		return at > 0 && !blank_next && is_word(text[at - 1]) && is_word(text[at + 1]);
	default:
		return false;
	}
}

void isc_text_prose(isc_buffer *out, const char *text, size_t len)
{
	for (size_t i = 0, done = 0; i <= len; i++) {
		if (i < len && !is_punctuation(text, len, i))
			continue;
		write_pieces(out, text + done, i - done, 0, write_prose);
		if (i < len)
			isc_buffer_add(out, text + i, 1);
		done = i + 1;
	}
}

void isc_text_utf8(isc_buffer *out, const char *text, size_t len)
{
	size_t kept = 0, at = 0;
	uint32_t c;

	while (at < len) {
		size_t n = isc_text_decode(text + at, len - at, &c);

		if (n > 0) {
			at += n;
			continue;
		}
		isc_buffer_add(out, text + kept, at - kept);
		isc_buffer_text(out, "\xef\xbf\xbd");
		kept = ++at;
	}
	isc_buffer_add(out, text + kept, at - kept);
}

size_t isc_text_width(const char *text, size_t len)
{
	size_t width = 0;

	for (size_t i = 0; i < len; i++)
		width += ((unsigned char)text[i] & 0xc0) != 0x80;
	return width;
}

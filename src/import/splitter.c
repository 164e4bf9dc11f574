#include "import/splitter.h"

#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define WINDOW_BYTES (1u << 20)
#define WINDOW_MOST (2 * ISC_SPLITTER_EVENT_MOST)
/* Of an object that is looked at to find out whether it is an event, after damage. */
#define PROBE_BYTES (64u << 10)
/* Bytes that are looked at in vain may be so many times those that were read, and some more; past that
 * objects are given up sooner, so that no text makes reading take forever. */
#define EFFORT_MOST 8u
#define EFFORT_FREE (16u << 20)
#define PATIENCE_LEAST 128u
#define POOL_BYTES (1u << 20)
#define READ_FLAGS (YYJSON_READ_NUMBER_AS_RAW | YYJSON_READ_ALLOW_INVALID_UNICODE | YYJSON_READ_ALLOW_INF_AND_NAN)

enum where { AT_TOP, IN_OBJECT, IN_EVENTS, AT_END };

struct isc_splitter {
	isc_bytes *bytes;
	char *window;
	size_t room, begin, end; /* what is there and not used yet */
	uint64_t offset;	 /* of the window's first byte in the text */
	bool ended;		 /* nothing comes behind the window */
	enum where where;
	bool top_object; /* events are a member of the outermost object */
	bool began;
	uint64_t effort;
	char *pool;
	size_t pool_bytes;
	yyjson_doc *doc;
	char key[256];
	isc_splitter_stats stats;
};

isc_status isc_splitter_new(isc_bytes *bytes, isc_splitter **out, isc_error *err)
{
	isc_splitter *s = calloc(1, sizeof(*s));

	*out = s;
	if (s != NULL) {
		s->bytes = bytes;
		s->room = WINDOW_BYTES;
		s->window = malloc(s->room);
		s->pool_bytes = POOL_BYTES;
		s->pool = malloc(s->pool_bytes);
		if (s->window != NULL && s->pool != NULL)
			return ISC_OK;
	}
	isc_splitter_free(s);
	*out = NULL;
	return isc_fail(err, ISC_ERR_NOMEM, "no memory to read the trace");
}

void isc_splitter_free(isc_splitter *s)
{
	if (s == NULL)
		return;
	free(s->window);
	free(s->pool);
	free(s);
}

/* ---- the window ---- */

/* More bytes behind those that are there.  False: none came (*st tells when that is a failure), or
 * the window is as large as it may be. */
static bool more(isc_splitter *s, isc_status *st, isc_error *err)
{
	size_t got = 0;

	if (s->ended || *st != ISC_OK)
		return false;
	if (s->begin > 0 && s->end == s->room) {
		memmove(s->window, s->window + s->begin, s->end - s->begin);
		s->offset += s->begin;
		s->end -= s->begin;
		s->begin = 0;
	}
	if (s->end == s->room) {
		char *window = s->room < WINDOW_MOST ? realloc(s->window, s->room * 2) : NULL;

		if (window == NULL) {
			if (s->room < WINDOW_MOST)
				*st = isc_fail(err, ISC_ERR_NOMEM, "no memory to read the trace");
			return false;
		}
		s->window = window;
		s->room *= 2;
	}
	*st = isc_bytes_read(s->bytes, s->window + s->end, s->room - s->end, &got, err);
	s->end += got;
	s->ended = *st == ISC_OK && got == 0;
	return got > 0;
}

/* The next byte that is no blank, or -1 at the end. */
static int look(isc_splitter *s, isc_status *st, isc_error *err)
{
	for (;;) {
		for (; s->begin < s->end; s->begin++) {
			unsigned char c = (unsigned char)s->window[s->begin];

			if (c != ' ' && c != '\n' && c != '\t' && c != '\r')
				return c;
		}
		if (!more(s, st, err))
			return -1;
	}
}

/* ---- where a value ends ---- */

struct scan {
	size_t at; /* from s->begin */
	unsigned depth;
	bool string;
};

/* The first byte at or behind at that is a quote or a bracket; end when there is none. */
static size_t skip_plain(const char *text, size_t at, size_t end)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}'),
		      low = _mm_set1_epi8(0x20);

	for (; at + 16 <= end; at += 16) {
		__m128i x = _mm_loadu_si128((const __m128i *)(const void *)(text + at));
		__m128i y = _mm_or_si128(x, low); /* '[' becomes '{' */
		int found = _mm_movemask_epi8(_mm_or_si128(
			_mm_cmpeq_epi8(x, quote), _mm_or_si128(_mm_cmpeq_epi8(y, open), _mm_cmpeq_epi8(y, close))));

		if (found != 0)
			return at + (size_t)__builtin_ctz((unsigned)found);
	}
#endif
	for (; at < end; at++) {
		char c = text[at];

		if (c == '"' || (c | 0x20) == '{' || (c | 0x20) == '}')
			return at;
	}
	return end;
}

/* Goes on with what the window has, up to most; true: the value that begins at s->begin ends at scan->at. */
static bool scan_on(const isc_splitter *s, struct scan *scan, size_t most)
{
	const char *text = s->window + s->begin;
	size_t end = s->end - s->begin, at = scan->at;

	end = end < most ? end : most;
	while (at < end) {
		if (scan->string) {
			const char *quote = memchr(text + at, '"', end - at);
			size_t slashes = 0;

			if (quote == NULL) {
				/* A backslash at the end may belong to what comes. */
				for (at = end; at > scan->at && text[at - 1] == '\\'; at--)
					;
				break;
			}
			at = (size_t)(quote - text);
			while (slashes < at && text[at - 1 - slashes] == '\\')
				slashes++;
			at++;
			scan->string = slashes % 2 != 0;
			if (!scan->string && scan->depth == 0) {
				scan->at = at;
				return true;
			}
			continue;
		}
		at = skip_plain(text, at, end);
		if (at == end)
			break;
		if (text[at] == '"') {
			scan->string = true;
		} else if ((text[at] | 0x20) == '{') {
			scan->depth++;
		} else if (scan->depth > 0 && --scan->depth == 0) {
			scan->at = at + 1;
			return true;
		}
		at++;
	}
	scan->at = at;
	return false;
}

/* How far to look for the end of what may have none. */
static size_t patience(const isc_splitter *s, size_t most)
{
	uint64_t allowed = (s->offset + s->begin) * EFFORT_MOST + EFFORT_FREE;
	uint64_t left = allowed > s->effort ? allowed - s->effort : 0;

	left = left > PATIENCE_LEAST ? left : PATIENCE_LEAST;
	return left < most ? (size_t)left : most;
}

/* The length of the object, list or string at s->begin; 0: it does not end, or is larger than most. */
static size_t measure(isc_splitter *s, size_t most, isc_status *st, isc_error *err)
{
	struct scan scan = {0};

	most = patience(s, most);
	while (!scan_on(s, &scan, most)) {
		if (s->end - s->begin >= most || !more(s, st, err)) {
			s->effort += scan.at;
			return 0;
		}
	}
	return scan.at;
}

/* ---- parsing ---- */

/* NULL: it is no JSON, or there is no memory. */
static yyjson_val *parse(isc_splitter *s, const char *at, size_t len, isc_status *st, isc_error *err)
{
	size_t need = yyjson_read_max_memory_usage(len, READ_FLAGS);
	yyjson_alc alc;

	s->doc = NULL; /* it lies in the pool */
	if (need > s->pool_bytes) {
		char *pool = realloc(s->pool, need);

		if (pool == NULL) {
			*st = isc_fail(err, ISC_ERR_NOMEM, "no memory to read the trace");
			return NULL;
		}
		s->pool = pool;
		s->pool_bytes = need;
	}
	yyjson_alc_pool_init(&alc, s->pool, s->pool_bytes);
	s->doc = yyjson_read_opts((char *)(uintptr_t)at, len, READ_FLAGS, &alc, NULL);
	return yyjson_doc_get_root(s->doc);
}

static bool is_event(yyjson_val *value)
{
	return yyjson_is_obj(value) &&
	       (yyjson_obj_get(value, "ph") != NULL || yyjson_obj_get(value, "event_type") != NULL);
}

/* ---- damage ---- */

static void note_damage(isc_splitter *s)
{
	if (s->stats.damages++ == 0)
		s->stats.first_damage = s->offset + s->begin;
}

static void step(isc_splitter *s, size_t n)
{
	n = n < s->end - s->begin ? n : s->end - s->begin;
	s->begin += n;
	s->stats.lost_bytes += n;
}

/* After damage: the next object that is an event, behind what is skipped; it is left to be read.
 * The end, when there is none. */
static isc_status recover(isc_splitter *s, size_t skip, isc_error *err)
{
	isc_status st = ISC_OK;

	note_damage(s);
	step(s, skip);
	while (st == ISC_OK) {
		const char *brace = memchr(s->window + s->begin, '{', s->end - s->begin);
		size_t at = s->begin, len;

		step(s, brace != NULL ? (size_t)(brace - (s->window + at)) : s->end - at);
		if (brace == NULL) {
			if (!more(s, &st, err))
				break;
			continue;
		}
		while (s->end - s->begin < 64 && more(s, &st, err))
			;
		for (at = s->begin + 1; at < s->end && (s->window[at] == ' ' || s->window[at] == '\n' ||
							s->window[at] == '\t' || s->window[at] == '\r');)
			at++;
		if (st != ISC_OK || at >= s->end || s->window[at] != '"') {
			step(s, 1);
			continue;
		}
		len = measure(s, PROBE_BYTES, &st, err);
		s->effort += len;
		if (len > 0 && is_event(parse(s, s->window + s->begin, len, &st, err))) {
			s->where = IN_EVENTS;
			return ISC_OK;
		}
		step(s, 1);
	}
	if (st == ISC_OK) {
		s->where = AT_END;
		s->stats.cut = true;
	}
	return st;
}

/* ---- the parts of the text ---- */

/* What follows is the end of the text, and it should not be. */
static void end_early(isc_splitter *s)
{
	s->where = AT_END;
	if (s->stats.list && s->begin == s->end) {
		s->stats.open = true;
		return;
	}
	s->stats.cut = true;
	s->stats.lost_bytes += s->end - s->begin;
	if (s->stats.damages == 0)
		s->stats.first_damage = s->offset + s->begin;
	s->begin = s->end;
}

/* What the next member or event begins with; negative: there is none, and the text may have ended early. */
static int look_behind_comma(isc_splitter *s, isc_status *st, isc_error *err)
{
	int c = look(s, st, err);

	if (c == ',') {
		s->begin++;
		c = look(s, st, err);
	}
	if (*st != ISC_OK)
		return -1;
	if (c < 0)
		end_early(s);
	return c;
}

static isc_status next_event(isc_splitter *s, isc_json_piece *piece, bool *got, isc_error *err)
{
	isc_status st = ISC_OK;
	int c = look_behind_comma(s, &st, err);
	size_t len;

	if (c < 0)
		return st;
	if (c == ']' && s->began) {
		s->begin++;
		s->where = s->top_object ? IN_OBJECT : AT_END;
		return ISC_OK;
	}
	len = c == '{' ? measure(s, ISC_SPLITTER_EVENT_MOST, &st, err) : 0;
	if (st != ISC_OK)
		return st;
	if (len == 0) {
		/* The last object of a text that was cut is no damage inside it. */
		if (c == '{' && s->ended && s->end - s->begin <= ISC_SPLITTER_EVENT_MOST) {
			uint64_t damages = s->stats.damages;

			st = recover(s, 1, err);
			if (s->where == AT_END)
				s->stats.damages = damages;
			return st;
		}
		s->stats.too_large += c == '{';
		return recover(s, 1, err);
	}
	piece->value = parse(s, s->window + s->begin, len, &st, err);
	if (st != ISC_OK)
		return st;
	if (!yyjson_is_obj(piece->value)) {
		return recover(s, 1, err);
	}
	s->begin += len;
	s->stats.events++;
	piece->key = NULL;
	*got = true;
	return ISC_OK;
}

/* A number, true, false or null: up to what cannot belong to it. */
static size_t measure_word(isc_splitter *s, isc_status *st, isc_error *err)
{
	size_t at = 0;

	for (;;) {
		for (; s->begin + at < s->end; at++) {
			char c = s->window[s->begin + at];

			if (c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\t' || c == '\r')
				return at;
		}
		if (at > 512 || !more(s, st, err))
			return 0;
	}
}

static isc_status next_member(isc_splitter *s, isc_json_piece *piece, bool *got, isc_error *err)
{
	isc_status st = ISC_OK;
	int c = look_behind_comma(s, &st, err);
	size_t len;

	if (c < 0)
		return st;
	if (c == '}') {
		s->begin++;
		s->where = AT_END;
		return ISC_OK;
	}
	len = c == '"' ? measure(s, sizeof(s->key), &st, err) : 0;
	if (st != ISC_OK)
		return st;
	if (len < 2) {
		if (s->ended && c == '"') {
			end_early(s);
			return ISC_OK;
		}
		return recover(s, 0, err);
	}
	memcpy(s->key, s->window + s->begin + 1, len - 2);
	s->key[len - 2] = 0;
	piece->key = s->key;
	piece->key_len = len - 2;
	s->begin += len;
	c = look(s, &st, err);
	if (c == ':') {
		s->begin++;
		c = look(s, &st, err);
	} else if (c >= 0) {
		return recover(s, 0, err);
	}
	if (st != ISC_OK)
		return st;
	if (c < 0) {
		end_early(s);
		return ISC_OK;
	}
	if (c == '[' && strcmp(s->key, "traceEvents") == 0) {
		s->begin++;
		s->where = IN_EVENTS;
		s->began = true;
		return ISC_OK;
	}
	len = c == '{' || c == '[' || c == '"' ? measure(s, ISC_SPLITTER_EVENT_MOST, &st, err)
					       : measure_word(s, &st, err);
	if (st != ISC_OK)
		return st;
	if (len == 0) {
		if (s->ended && s->end - s->begin <= ISC_SPLITTER_EVENT_MOST) {
			end_early(s);
			return ISC_OK;
		}
		return recover(s, 0, err);
	}
	piece->value = parse(s, s->window + s->begin, len, &st, err);
	s->begin += len;
	*got = piece->value != NULL;
	/* One member that is wrong says nothing of the next. */
	if (st == ISC_OK && piece->value == NULL) {
		note_damage(s);
		s->stats.lost_bytes += len;
	}
	return st;
}

static isc_status start(isc_splitter *s, isc_error *err)
{
	isc_status st = ISC_OK;
	int c = look(s, &st, err);
	size_t len;

	while (st == ISC_OK && s->end - s->begin < 3 && more(s, &st, err))
		;
	if (st == ISC_OK && s->end - s->begin >= 3 && memcmp(s->window + s->begin, "\xef\xbb\xbf", 3) == 0) {
		s->begin += 3;
		c = look(s, &st, err);
	}
	if (st != ISC_OK)
		return st;
	if (c == '[') {
		s->begin++;
		s->stats.list = s->began = true;
		s->where = IN_EVENTS;
	} else if (c == '{') {
		len = measure(s, PROBE_BYTES, &st, err);
		if (st != ISC_OK)
			return st;
		if (len > 0 && is_event(parse(s, s->window + s->begin, len, &st, err)) &&
		    yyjson_obj_get(yyjson_doc_get_root(s->doc), "traceEvents") == NULL) {
			s->stats.list = true;
			s->where = IN_EVENTS;
			return st;
		}
		s->begin++;
		s->top_object = true;
		s->where = IN_OBJECT;
	} else if (c < 0) {
		s->where = AT_END;
		s->stats.cut = true;
	} else {
		st = recover(s, 0, err);
	}
	return st;
}

isc_status isc_splitter_next(isc_splitter *s, isc_json_piece *piece, bool *more_pieces, isc_error *err)
{
	isc_status st = ISC_OK;
	bool got = false;

	while (st == ISC_OK && !got && s->where != AT_END) {
		switch (s->where) {
		case AT_TOP:
			st = start(s, err);
			break;
		case IN_OBJECT:
			st = next_member(s, piece, &got, err);
			break;
		default:
			st = next_event(s, piece, &got, err);
			break;
		}
	}
	*more_pieces = got;
	return st;
}

const isc_splitter_stats *isc_splitter_stats_get(const isc_splitter *s)
{
	return &s->stats;
}

/*
 * speedscope.c - speedscope's own files: profiles of calls, by their begin and
 * end, and of samples with weights, over one table of frames.
 *
 * The table may stand behind the profiles, so a file is read whole; what is too
 * large for that is refused.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "import/number.h"
#include "import/reader.h"

#define TEXT_MOST (512u << 20)
#define READ_BYTES (1u << 20)
#define FRAMES_MOST 4096u
#define READ_FLAGS (YYJSON_READ_NUMBER_AS_RAW | YYJSON_READ_ALLOW_INVALID_UNICODE | YYJSON_READ_INSITU)

struct speedscope_file {
	isc_reader *r;
	uint32_t *names; /* of frames */
	size_t name_count;
	int64_t sampled_ns; /* by all samples */
};

bool isc_speedscope_is(const char *head, size_t len)
{
	static const char schema[] = "speedscope.app/file-format-schema";

	return memmem(head, len, schema, sizeof(schema) - 1) != NULL;
}

static bool take_names(struct speedscope_file *f, yyjson_val *frames)
{
	yyjson_val *frame;
	size_t at, n;

	f->names = calloc(yyjson_arr_size(frames) + 1, sizeof(*f->names));
	if (f->names == NULL)
		return false;
	yyjson_arr_foreach(frames, at, n, frame)
	{
		yyjson_val *name = yyjson_obj_get(frame, "name"), *file = yyjson_obj_get(frame, "file");
		uint64_t line = 0;

		if (!yyjson_is_str(name)) {
			f->r->file->malformed++;
			name = NULL;
		}
		if (name != NULL && yyjson_is_str(file) && isc_reader_count(yyjson_obj_get(frame, "line"), &line))
			f->names[at] = isc_reader_placed(f->r, yyjson_get_str(file), yyjson_get_len(file), line,
							 yyjson_get_str(name), yyjson_get_len(name));
		else
			f->names[at] = name != NULL
					       ? isc_reader_function(f->r, yyjson_get_str(name), yyjson_get_len(name))
					       : isc_reader_function(f->r, "?", 1);
		f->name_count++;
	}
	return true;
}

/* A power of ten of nanoseconds; -1: it is no time. */
static int shift_of(yyjson_val *unit)
{
	static const struct {
		const char *word;
		int shift;
	} units[] = {{"nanoseconds", 0}, {"microseconds", 3}, {"milliseconds", 6}, {"seconds", 9}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (yyjson_equals_str(unit, units[i].word))
			return units[i].shift;
	}
	return -1;
}

static bool frame_of(const struct speedscope_file *f, yyjson_val *value, uint32_t *name)
{
	uint64_t at;

	if (!isc_reader_count(value, &at) || at >= f->name_count) {
		f->r->file->malformed++;
		return false;
	}
	*name = f->names[at];
	return true;
}

static isc_status take_calls(struct speedscope_file *f, yyjson_val *events, uint32_t thread, unsigned shift,
			     isc_error *err)
{
	isc_status st = ISC_OK;
	yyjson_val *event;
	size_t at, n;

	yyjson_arr_foreach(events, at, n, event)
	{
		isc_open_span span = {.thread = thread, .kind = ISC_HOST_PYTHON};
		yyjson_val *type = yyjson_obj_get(event, "type");

		if (st != ISC_OK)
			break;
		f->r->file->events++;
		if (!frame_of(f, yyjson_obj_get(event, "frame"), &span.name))
			continue;
		if (!isc_reader_time(yyjson_obj_get(event, "at"), shift, &span.start_ns))
			f->r->file->malformed++;
		else if (yyjson_equals_str(type, "O"))
			st = isc_reader_enter(f->r, thread, &span, err);
		else if (yyjson_equals_str(type, "C"))
			st = isc_reader_leave(f->r, thread, span.name, span.start_ns, err);
		else
			f->r->file->malformed++;
	}
	return st;
}

static isc_status take_samples(struct speedscope_file *f, yyjson_val *samples, yyjson_val *weights, unsigned shift,
			       isc_error *err)
{
	isc_status st = ISC_OK;
	yyjson_arr_iter weight;
	yyjson_val *sample;
	size_t at, n;

	yyjson_arr_iter_init(weights, &weight);
	yyjson_arr_foreach(samples, at, n, sample)
	{
		yyjson_val *of = yyjson_arr_iter_next(&weight), *frame;
		uint32_t names[FRAMES_MOST];
		size_t i, count, kept = 0;
		int64_t ns = 0;

		if (st != ISC_OK)
			break;
		f->r->file->events++;
		if (!isc_reader_time(of, shift, &ns) || ns < 0)
			f->r->file->malformed++;
		yyjson_arr_foreach(sample, i, count, frame)
		{
			if (kept < FRAMES_MOST && frame_of(f, frame, &names[kept]))
				kept++;
		}
		st = isc_reader_stack(f->r, names, kept, 1, ns, err);
	}
	return st;
}

static isc_status take_profile(struct speedscope_file *f, yyjson_val *profile, uint64_t number, isc_error *err)
{
	yyjson_val *type = yyjson_obj_get(profile, "type"), *name = yyjson_obj_get(profile, "name");
	int shift = shift_of(yyjson_obj_get(profile, "unit"));
	uint32_t thread;

	f->r->file->no_unit |= shift < 0;
	if (yyjson_equals_str(type, "sampled"))
		return take_samples(f, yyjson_obj_get(profile, "samples"), yyjson_obj_get(profile, "weights"),
				    shift < 0 ? 3 : (unsigned)shift, err);
	if (!yyjson_equals_str(type, "evented")) {
		f->r->file->malformed++;
		return ISC_OK;
	}
	thread = isc_reader_thread(f->r, 0, number + 1);
	isc_timeline_thread_named(f->r->timeline, thread, isc_reader_name(f->r, name));
	return take_calls(f, yyjson_obj_get(profile, "events"), thread, shift < 0 ? 3 : (unsigned)shift, err);
}

static isc_status take_all(isc_reader *r, yyjson_val *root, isc_error *err)
{
	yyjson_val *frames = yyjson_obj_get(yyjson_obj_get(root, "shared"), "frames"), *profile;
	struct speedscope_file f = {.r = r};
	isc_status st = ISC_OK;
	size_t at, n;

	if (!yyjson_is_arr(frames) || !yyjson_is_arr(yyjson_obj_get(root, "profiles")))
		return isc_fail(err, ISC_ERR_CORRUPT, "%.150s has no frames or no profiles", r->file->path);
	if (!take_names(&f, frames))
		st = isc_fail(err, ISC_ERR_NOMEM, "no memory to read the profile");
	yyjson_arr_foreach(yyjson_obj_get(root, "profiles"), at, n, profile)
	{
		if (st == ISC_OK)
			st = take_profile(&f, profile, at, err);
	}
	free(f.names);
	return st;
}

static isc_status read_whole(isc_reader *r, isc_bytes *bytes, isc_buffer *text, isc_error *err)
{
	char *piece = malloc(READ_BYTES);
	isc_status st = piece != NULL ? ISC_OK : isc_fail(err, ISC_ERR_NOMEM, "no memory to read the profile");
	size_t got = 1;

	while (st == ISC_OK && got > 0) {
		st = isc_bytes_read(bytes, piece, READ_BYTES, &got, err);
		isc_buffer_add(text, piece, st == ISC_OK ? got : 0);
		if (st == ISC_OK && text->len > TEXT_MOST) {
			st = isc_fail(err, ISC_ERR_LIMIT, "%.150s is over 512 MB, too large for a file of speedscope",
				      r->file->path);
			isc_hint(err, "record again for a shorter time, or convert it to Chrome JSON");
		}
	}
	/* Room behind it, for a parser that works in place. */
	isc_buffer_add(text, "\0\0\0\0\0\0\0", YYJSON_PADDING_SIZE);
	if (st == ISC_OK && text->failed)
		st = isc_fail(err, ISC_ERR_NOMEM, "no memory to read the profile");
	free(piece);
	return st;
}

isc_status isc_speedscope_read(isc_reader *r, isc_bytes *bytes, isc_error *err)
{
	isc_buffer text = {0};
	yyjson_read_err why = {0};
	yyjson_doc *doc = NULL;
	isc_status st = read_whole(r, bytes, &text, err);

	r->file->format = "speedscope";
	if (st == ISC_OK) {
		doc = yyjson_read_opts(text.data, text.len - YYJSON_PADDING_SIZE, READ_FLAGS, NULL, &why);
		if (doc == NULL) {
			st = isc_fail(err, ISC_ERR_CORRUPT, "%.150s is damaged at byte %zu: %.80s", r->file->path,
				      why.pos, why.msg != NULL ? why.msg : "no JSON");
			isc_hint(err, "write it again");
		}
	}
	if (st == ISC_OK)
		st = take_all(r, yyjson_doc_get_root(doc), err);
	yyjson_doc_free(doc);
	isc_buffer_fini(&text);
	return st;
}

/* export: X3, names that try to be something else, in every format; and what comes back of what went out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <yyjson.h>
#include <zlib.h>

#include "base/buffer.h"
#include "base/text.h"
#include "export/export.h"
#include "import/import.h"
#include "payloads.h"
#include "trace_text.h"

static isc_status gather(void *self, const void *data, size_t len, isc_error *err)
{
	(void)err;
	isc_buffer_add(self, data, len);
	return ISC_OK;
}

/* A trace in which everything that can have a name has this one. */
static isc_trace *trace_of(const char *name, size_t len)
{
	isc_buffer quoted = {0}, text = {0};
	isc_trace *trace = NULL;
	isc_error err = {0};

	isc_buffer_text(&quoted, "\"");
	for (size_t i = 0; i < len; i++)
		isc_buffer_format(&quoted, "\\x%02x", (unsigned char)name[i]);
	isc_buffer_add(&quoted, "\"", 2);
	isc_buffer_format(&text,
			  "meta {\"argv\": [\"x\"]}\n"
			  "p1 pid=100 root traced end=10ms status=0 argv %s\n"
			  "t1 p1 tid=100 main name=main end=10ms\n"
			  "t1 1ms call_enter %s %s 1\n"
			  "t1 2ms scope_enter %s\n"
			  "t1 2ms instant %s {\"n\": 3}\n"
			  "t1 2ms counter %s 3.5\n"
			  "t1 3ms sample 2 5ms\n"
			  "t1 3ms scope_exit %s\n"
			  "t1 4ms c_enter %s\n"
			  "t1 5ms c_exit %s\n"
			  "t1 6ms call_exit %s %s 1\n"
			  "end 9ms status=0\n",
			  quoted.data, quoted.data, quoted.data, quoted.data, quoted.data, quoted.data, quoted.data,
			  quoted.data, quoted.data, quoted.data, quoted.data);
	if (trace_text_open(text.data, &trace, &err) != ISC_OK)
		fail_msg("%s", err.what);
	isc_buffer_fini(&text);
	isc_buffer_fini(&quoted);
	return trace;
}

static void export(isc_trace *trace, int format, isc_buffer *out)
{
	isc_export_options options = {.format = format};
	isc_export_result result;
	isc_error err = {0};

	isc_buffer_clear(out);
	if (isc_export_run(trace, &options, gather, out, &result, &err) != ISC_OK)
		fail_msg("%s", err.what);
}

static bool is_utf8(const char *text, size_t len)
{
	uint32_t c;

	for (size_t at = 0, n; at < len; at += n) {
		n = isc_text_decode(text + at, len - at, &c);
		if (n == 0)
			return false;
	}
	return true;
}

/* Somewhere in it is this text, as a value of its own. */
static bool has_text(yyjson_val *value, const char *text, size_t len)
{
	yyjson_val *key, *inner;
	size_t at, n;

	if (yyjson_is_str(value))
		return yyjson_get_len(value) == len && memcmp(yyjson_get_str(value), text, len) == 0;
	if (yyjson_is_arr(value)) {
		yyjson_arr_foreach(value, at, n, inner)
		{
			if (has_text(inner, text, len))
				return true;
		}
	}
	if (yyjson_is_obj(value)) {
		yyjson_obj_foreach(value, at, n, key, inner)
		{
			if (has_text(inner, text, len))
				return true;
		}
	}
	return false;
}

static void check_json(const isc_buffer *out, const isc_buffer *clean, size_t which)
{
	yyjson_doc *doc = yyjson_read(out->data, out->len, 0); /* strict */

	if (doc == NULL || !is_utf8(out->data, out->len))
		fail_msg("payload %zu is no JSON: %.300s", which, out->data);
	if (clean->len > 0 && !has_text(yyjson_doc_get_root(doc), clean->data, clean->len))
		fail_msg("payload %zu is not there as a text", which);
	yyjson_doc_free(doc);
}

/* Every line is a stack and a count: names add no line, no frame and no control. */
static void check_lines(const isc_buffer *out, size_t which)
{
	size_t lines = 0;

	for (size_t i = 0; i < out->len; i++) {
		unsigned char c = (unsigned char)out->data[i];

		lines += c == '\n';
		if ((c < 0x20 && c != '\n') || c == 0x7f)
			fail_msg("payload %zu has a control: %.300s", which, out->data);
	}
	assert_true(is_utf8(out->data, out->len));
	assert_true(lines >= 1 && lines <= 3 && out->data[out->len - 1] == '\n');
}

/* Fields by their numbers from the outermost message on, two digits each: those that are messages, and those that are
 * texts. */
static const uint64_t perfetto_messages[] = {1, 111, 112, 160, 11104, 11201, 11202, 11205, 11217, 16003, 16004};
static const uint64_t perfetto_texts[] = {1110406, 1110409, 1110410, 1120102, 1120202, 1120502,
					  1121702, 16002,   1600302, 1600306, 1600405};
static const uint64_t pprof_messages[] = {1, 2, 3, 4, 5, 203};
static const uint64_t pprof_texts[] = {6};

typedef struct wire {
	const uint64_t *messages, *texts;
	size_t message_count, text_count;
	size_t which; /* payload */
	size_t seen;  /* texts */
} wire;

static bool is_in(uint64_t path, const uint64_t *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (list[i] == path)
			return true;
	}
	return false;
}

static uint64_t varint(const char **at, const char *end)
{
	uint64_t value = 0;

	for (unsigned shift = 0;; shift += 7) {
		assert_true(*at < end && shift < 64);
		value |= (uint64_t)(**at & 0x7f) << shift;
		if (!(*(*at)++ & 0x80))
			return value;
	}
}

/* Every message ends where it says, and every text is UTF-8. */
static void check_wire(wire *w, const char *at, const char *end, uint64_t above)
{
	while (at < end) {
		uint64_t key = varint(&at, end), path = above * 100 + (key >> 3), len;

		if ((key & 7) == 0) {
			varint(&at, end);
			continue;
		}
		assert_true((key & 7) == 1 || (key & 7) == 2);
		len = (key & 7) == 1 ? 8 : varint(&at, end);
		assert_true(len <= (uint64_t)(end - at));
		if (is_in(path, w->messages, w->message_count))
			check_wire(w, at, at + len, path);
		if (is_in(path, w->texts, w->text_count)) {
			w->seen++;
			if (!is_utf8(at, len))
				fail_msg("payload %zu: text %llu is not UTF-8", w->which, (unsigned long long)path);
		}
		at += len;
	}
}

#define WIRE(format, number) \
	{.messages = format##_messages, \
	 .texts = format##_texts, \
	 .message_count = sizeof(format##_messages) / sizeof(uint64_t), \
	 .text_count = sizeof(format##_texts) / sizeof(uint64_t), \
	 .which = number}

static void unzip(const isc_buffer *from, isc_buffer *to)
{
	z_stream zip = {.next_in = (unsigned char *)from->data, .avail_in = (unsigned)from->len};
	int code = Z_OK;

	assert_int_equal(inflateInit2(&zip, 15 + 16), Z_OK);
	while (code == Z_OK) {
		char room[4096];

		zip.next_out = (unsigned char *)room;
		zip.avail_out = sizeof(room);
		code = inflate(&zip, Z_NO_FLUSH);
		isc_buffer_add(to, room, sizeof(room) - zip.avail_out);
	}
	assert_int_equal(code, Z_STREAM_END);
	inflateEnd(&zip);
}

static void check_all(const char *name, size_t len, size_t which)
{
	isc_trace *trace = trace_of(name, len);
	isc_buffer out = {0}, clean = {0}, plain = {0};
	wire perfetto = WIRE(perfetto, which), pprof = WIRE(pprof, which);

	isc_text_utf8(&clean, name, len);
	export(trace, ISC_EXPORT_CHROME, &out);
	check_json(&out, &clean, which);
	export(trace, ISC_EXPORT_EVENTS, &out);
	check_json(&out, &clean, which);
	export(trace, ISC_EXPORT_SPEEDSCOPE, &out);
	check_json(&out, &clean, which);
	export(trace, ISC_EXPORT_COLLAPSED, &out);
	check_lines(&out, which);
	export(trace, ISC_EXPORT_PERFETTO, &out);
	check_wire(&perfetto, out.data, out.data + out.len, 0);
	assert_true(perfetto.seen > 8);
	export(trace, ISC_EXPORT_PPROF, &out);
	unzip(&out, &plain);
	check_wire(&pprof, plain.data, plain.data + plain.len, 0);
	assert_true(pprof.seen > 8);
	isc_buffer_fini(&plain);
	isc_buffer_fini(&clean);
	isc_buffer_fini(&out);
	isc_trace_close(trace);
}

static void payloads_stay_names_in_every_format(void **state)
{
	(void)state;
	for (size_t i = 0; i < PAYLOADS; i++)
		check_all(payloads[i].text, payloads[i].len, i);
}

/* Through Chrome JSON into a timeline, which is the caller's as the import is. */
static const isc_timeline_facts *back_from_chrome(isc_trace *trace, isc_buffer *text, isc_import *import,
						  isc_timeline **timeline)
{
	const isc_timeline_facts *facts;
	FILE *file = tmpfile();

	export(trace, ISC_EXPORT_CHROME, text);
	assert_non_null(file);
	assert_int_equal(fwrite(text->data, 1, text->len, file), text->len);
	rewind(file);
	assert_int_equal(isc_timeline_new(NULL, timeline, NULL), ISC_OK);
	assert_int_equal(isc_import_read_fd(import, fileno(file), "trace", *timeline, NULL), ISC_OK);
	assert_int_equal(isc_timeline_finish(*timeline, NULL, &facts, NULL), ISC_OK);
	assert_int_equal(import->files[0].malformed, 0);
	assert_false(import->files[0].damaged);
	fclose(file);
	return facts;
}

/* The function of each payload is one function again. */
static void payloads_come_back_from_chrome(void **state)
{
	(void)state;
	for (size_t i = 0; i < PAYLOADS; i++) {
		isc_trace *trace = trace_of(payloads[i].text, payloads[i].len);
		isc_timeline *timeline = NULL;
		isc_import import = {0};
		isc_buffer out = {0};
		const isc_timeline_facts *facts = back_from_chrome(trace, &out, &import, &timeline);

		assert_int_equal(facts->function_count, 2);
		assert_int_equal(facts->scope_count, 1);
		assert_int_equal(facts->scopes[0].total_ns, 1000000);
		isc_timeline_free(timeline);
		isc_import_fini(&import);
		isc_buffer_fini(&out);
		isc_trace_close(trace);
	}
}

/* Two streams, 0 among them: no thread 0, an arrow from each call to its work, and all of it back to the nanosecond. */
static void gpu_work_comes_back_with_its_arrows(void **state)
{
	isc_trace *trace = NULL;
	isc_timeline *timeline = NULL;
	isc_import import = {0};
	isc_buffer out = {0};
	isc_error err = {0};
	const isc_timeline_facts *f;

	(void)state;
	if (trace_text_open("meta {\"argv\": [\"x\"]}\n"
			    "p1 pid=100 root traced end=90ms status=0 argv serve\n"
			    "t1 p1 tid=100 main name=main end=90ms\n"
			    "t1 12ms gpu_call launch clEnqueueNDRangeKernel 10ms 10.1ms 7\n"
			    "t1 14ms gpu_call copy clEnqueueWriteBuffer 13ms 13.1ms 8\n"
			    "t1 40ms gpu_work kernel gemm 0 20ms 23.000001ms 7 stream=0\n"
			    "t1 41ms gpu_work h2d write 0 25ms 26ms 8 stream=5 bytes=64 pinned\n"
			    "end 90ms status=0\n",
			    &trace, &err) != ISC_OK)
		fail_msg("%s", err.what);
	f = back_from_chrome(trace, &out, &import, &timeline);
	assert_null(strstr(out.data, "\"tid\":0,"));
	assert_null(strstr(out.data, "\"pid\":0,"));
	assert_non_null(strstr(out.data, "stream 0"));
	assert_int_equal(import.files[0].arrows, 2);
	assert_int_equal(import.files[0].loose, 0);
	assert_int_equal(f->kernel_count, 1);
	assert_int_equal(f->kernels[0].total_ns, 3000001);
	assert_int_equal(f->copy_count, 1);
	assert_int_equal(f->copies[0].kind, ISC_GPU_H2D);
	assert_int_equal(f->copies[0].bytes, 64);
	assert_int_equal(f->copies[0].pinned, 1);
	assert_int_equal(f->gpus[0].unlinked, 0);
	isc_timeline_free(timeline);
	isc_import_fini(&import);
	isc_buffer_fini(&out);
	isc_trace_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(payloads_stay_names_in_every_format),
		cmocka_unit_test(payloads_come_back_from_chrome),
		cmocka_unit_test(gpu_work_comes_back_with_its_arrows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

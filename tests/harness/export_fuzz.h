/*
 * export_fuzz.h - exports of a trace of any content: what is meant to be JSON must parse.
 */
#ifndef ISC_HARNESS_EXPORT_FUZZ_H
#define ISC_HARNESS_EXPORT_FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include <yyjson.h>

#include "base/buffer.h"
#include "export/export.h"

static isc_status export_gather(void *self, const void *data, size_t len, isc_error *err)
{
	(void)err;
	isc_buffer_add(self, data, len);
	return ISC_OK;
}

static void export_check(isc_trace *trace, const isc_export_options *options)
{
	bool json = options->format == ISC_EXPORT_CHROME || options->format == ISC_EXPORT_EVENTS ||
		    options->format == ISC_EXPORT_SPEEDSCOPE;
	isc_export_result result = {0};
	isc_buffer text = {0};
	yyjson_doc *doc;

	if (isc_export_run(trace, options, export_gather, &text, &result, NULL) == ISC_OK && json) {
		doc = yyjson_read(text.data, text.len, 0);
		if (doc == NULL) {
			fprintf(stderr, "an export is no JSON\n");
			abort();
		}
		yyjson_doc_free(doc);
	}
	isc_buffer_fini(&text);
}

#endif

/*
 * scene.h - the scenes of tests/golden: a trace as text, and the reports on it.
 *
 * A line "# golden: ..." in the text says what of the reports is kept beside it:
 *
 *	# golden: whole				all of them: NAME.report.json, NAME.report.md and NAME.summary
 *	# golden: gpus kernels | GPUs, Kernels	in NAME.verdict, besides the verdict: members of the JSON report, sections of Markdown
 *	(no such line)				NAME.verdict with the verdict alone
 */
#ifndef ISC_HARNESS_SCENE_H
#define ISC_HARNESS_SCENE_H

#include "analyze/analysis.h"
#include "base/buffer.h"

typedef struct scene {
	char *text;
	isc_analysis *analysis;
	isc_buffer json, markdown, summary;
} scene;

/* Reads, analyses and reports; to be closed, on failure too. */
isc_status scene_open(scene *s, const char *path, isc_error *err);
void scene_close(scene *s);

bool scene_is_whole(const scene *s);

/* What NAME.verdict holds: the verdict, the suggestions and what the line names, cut out of the three reports as they
 * stand there.  ISC_ERR_ABSENT: the reports have nothing of a name in the line. */
isc_status scene_verdict(const scene *s, isc_buffer *out, isc_error *err);

/* PATH of the scene with another ending than .events. */
void scene_path(const char *events, const char *ending, char *out, size_t room);

/* The bytes of a file, with a 0 behind them, to be freed; NULL: it cannot be read. */
char *scene_read(const char *path, size_t *len);

#endif

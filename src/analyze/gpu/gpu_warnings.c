#include <stdio.h>
#include <string.h>

#include "analyze/gpu/gpu.h"
#include "base/units.h"

enum { NOTE = 0, GRAVE = 1 };

#define NAMED_MAX 8u
#define BY_NSYS \
	"GPU activity was recorded by Nsight Systems: calls have no Python stacks, gpu_wait is not known, and its " \
	"clock " \
	"is %s"
#define BY_DAY "placed by the time of day"

/* Only letters that a name of a call has: what a trace says of itself is anybody's. */
static const char *plain(char *to, size_t room, isc_text text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.len && n + 1 < room; i++) {
		unsigned char c = (unsigned char)text.at[i];

		to[n++] = (char)(c >= ' ' && c < 127 ? c : '?');
	}
	to[n] = 0;
	return to;
}

static void about_source(isc_build *b, const isc_gpu_word *words)
{
	char name[40], detail[120], code[24] = "";
	isc_units n;

	plain(name, sizeof(name), words[0].source);
	/* Said by a part that only programs with a GPU's library load. */
	if (words[ISC_GPU_ABSENT].code != 0)
		snprintf(code, sizeof(code), " (%d)", (int)words[ISC_GPU_ABSENT].code);
	if (words[ISC_GPU_ABSENT].times > 0)
		isc_build_say(b, GRAVE, "gpu_absent", "inferscope doctor says what is missing here",
			      isc_arena_format(b->arena, "%s tells of no GPU: %s%s; the report is of the CPU alone",
					       name, plain(detail, sizeof(detail), words[ISC_GPU_ABSENT].detail),
					       code));
	if (words[ISC_GPU_BUSY].times > 0)
		isc_build_say(b, GRAVE, "gpu_busy", "stop the other profiler, or look at its trace with analyze",
			      isc_arena_format(b->arena,
					       "%s is held by another profiler: what GPUs did meanwhile is missing",
					       name));
	if (words[ISC_GPU_FAILED].times > 0)
		isc_build_say(b, GRAVE, "gpu_failed", NULL,
			      isc_arena_format(b->arena, "%s: %s failed (%d): records of GPUs may be missing", name,
					       plain(detail, sizeof(detail), words[ISC_GPU_FAILED].detail),
					       (int)words[ISC_GPU_FAILED].code));
	if (words[ISC_GPU_DROPPED].count > 0)
		isc_build_say(b, GRAVE, "gpu_dropped", NULL,
			      isc_arena_format(b->arena, "%s dropped %s records of GPUs: their work is missing", name,
					       isc_units_count(&n, words[ISC_GPU_DROPPED].count)));
	if (words[ISC_GPU_REDUCED].times > 0)
		isc_build_say(b, NOTE, "gpu_reduced", "run with --budget off to see the parts",
			      isc_arena_format(b->arena,
					       "%s told of graphs as a whole at times, to stay inside the budget",
					       name));
}

static void about_device(isc_build *b, const isc_facts_gpu *g)
{
	uint64_t work = g->kernels + g->copies + g->sets;
	isc_units n, of;

	if (g->unstamped > 0)
		isc_build_say(b, GRAVE, "unstamped_work", NULL,
			      isc_arena_format(b->arena, "GPU %u: %s records have no time stamps, and are left out",
					       g->number, isc_units_count(&n, g->unstamped)));
	if (g->seen && g->early > g->fixed && g->shift_ns == 0)
		isc_build_say(b, GRAVE, "early_work", NULL,
			      isc_arena_format(b->arena,
					       "GPU %u: %s of %s pieces of work begin before the call that asked for "
					       "them, by more than the clock may be off",
					       g->number, isc_units_count(&n, g->early - g->fixed),
					       isc_units_count(&of, work)));
	if (g->seen && g->unlinked > 0)
		isc_build_say(
			b, NOTE, "unlinked_work", NULL,
			isc_arena_format(b->arena,
					 "GPU %u: which call asked for it is not known of %s of %s pieces of work",
					 g->number, isc_units_count(&n, g->unlinked), isc_units_count(&of, work)));
}

void isc_gpu_warn(isc_build *b)
{
	const isc_timeline_facts *f = b->a->timeline;
	isc_units t;

	for (size_t i = 0; i < b->gpu->sources; i++)
		about_source(b, b->gpu->word[i]);
	if (b->gpu->beside)
		isc_build_say(b, NOTE, "gpu_by_nsys", "install CUPTI beside the program's CUDA",
			      isc_arena_format(b->arena, BY_NSYS, b->gpu->placed ? BY_DAY : "taken to begin with it"));
	if (b->gpu->beside_wrong != NULL)
		isc_build_say(b, GRAVE, "gpu_file", NULL,
			      isc_arena_format(b->arena, "Nsight Systems' file could not be read whole: %s",
					       b->gpu->beside_wrong));
	for (size_t i = 0; f != NULL && i < f->gpu_count && i < NAMED_MAX; i++)
		about_device(b, &f->gpus[i]);
	if (b->a->clock_sync != NULL && strcmp(b->a->clock_sync, "assumed") == 0)
		isc_build_say(
			b, NOTE, "clock_assumed", "set INFERSCOPE_SYNC_ERROR_MARGIN_US to what you know",
			isc_arena_format(b->arena,
					 "the clock of the GPU could not be compared with the CPU's: an error of %s "
					 "is assumed for causes of idle time and queue delays",
					 isc_units_time(&t, b->a->clock_error_us)));
	if (b->gpu->on_cpu && b->a->clock_sync != NULL)
		isc_build_say(b, NOTE, "gpu_is_cpu", NULL,
			      isc_arena_format(b->arena, "the device is the CPU itself: its work and the program take "
							 "each other's time"));
	if (b->a->retired > 0 && b->a->clock_sync != NULL)
		isc_build_say(b, NOTE, "gpu_retired", "raise --trace-size-mb",
			      isc_arena_format(b->arena,
					       "gpus, kernels and copies are of what is still in the trace: its "
					       "oldest events were dropped"));
	if (b->gpu->failed_calls > 0)
		isc_build_say(b, NOTE, "gpu_errors", NULL,
			      isc_arena_format(b->arena, "calls of the GPU's library that failed: %s",
					       isc_units_count(&t, b->gpu->failed_calls)));
}

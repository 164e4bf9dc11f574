#include "analyze/time/attribution.h"

#include "analyze/build.h"
#include "analyze/code/interpreter.h"
#include "analyze/time/spin.h"
#include "trace/sample.h"

static const struct {
	const char *name, *words, *remedy;
} reason_words[ISC_UNATTRIBUTED_REASONS] = {
	{"unknown", "the trace does not say why", "analyse it with the version that recorded it, or record again"},
	{"stack_table_full", "the program has more different stacks than its table holds",
	 "record fewer frames with --native leaf or --native off, or sample less often with --rate"},
	{"stack_unreadable", "their stacks could not be read",
	 "record with --native off if the program runs on stacks of its own (greenlets, signal stacks)"},
	{"python_unreadable", "the frames of this Python cannot be read",
	 "use a Python that inferscope doctor calls supported"},
	{"thread_ended", "their threads ended before the samples were taken",
	 "keep threads in a pool instead of starting one for each piece of work"},
	{"stack_dropped", "the trace had no room for all stacks", "raise --trace-size-mb, or set it to 0 for no limit"},
	{"not_sampled", "no sample was taken of it", "let the program run longer, or sample more often with --rate"},
};

const char *isc_unattributed_name(enum isc_unattributed why)
{
	return reason_words[why].name;
}

const char *isc_unattributed_words(enum isc_unattributed why)
{
	return reason_words[why].words;
}

const char *isc_unattributed_remedy(enum isc_unattributed why)
{
	return reason_words[why].remedy;
}

static isc_attribution nothing(const isc_build *b, uint32_t stack)
{
	static const enum isc_unattributed reasons[] = {[ISC_STACK_NONE_UNKNOWN] = ISC_UNATTRIBUTED_UNKNOWN,
							[ISC_STACK_NONE_TABLE] = ISC_UNATTRIBUTED_TABLE,
							[ISC_STACK_NONE_FAULT] = ISC_UNATTRIBUTED_UNREADABLE,
							[ISC_STACK_NONE_BLIND] = ISC_UNATTRIBUTED_PYTHON,
							[ISC_STACK_NONE_GONE] = ISC_UNATTRIBUTED_ENDED,
							[ISC_STACK_NONE_PYTHON] = ISC_UNATTRIBUTED_UNREADABLE};
	uint32_t why = stack & ~ISC_STACK_TAGS;

	/* No stack was asked for: the thread has no Python, and native frames are off. */
	if (why == ISC_STACK_NONE_PYTHON && b->facts.native_off)
		return (isc_attribution){.state = ISC_STATE_ON_CPU};
	return (isc_attribution){.state = ISC_STATE_UNATTRIBUTED,
				 .why = why < sizeof(reasons) / sizeof(reasons[0]) ? reasons[why]
										   : ISC_UNATTRIBUTED_UNKNOWN};
}

isc_attribution isc_attribution_of(const isc_build *b, uint32_t process, uint32_t stack)
{
	isc_attribution what = {.state = ISC_STATE_PYTHON};
	isc_frame frame = {0};

	if (isc_stack_is_none(stack))
		return nothing(b, stack);
	if (!isc_trace_frame(b->trace, process, stack, &frame))
		return (isc_attribution){.state = ISC_STATE_UNATTRIBUTED, .why = ISC_UNATTRIBUTED_DROPPED};
	if (frame.kind == ISC_FRAME_UNKNOWN)
		return (isc_attribution){.state = ISC_STATE_UNATTRIBUTED, .why = ISC_UNATTRIBUTED_UNKNOWN};
	what.native = frame.kind == ISC_FRAME_NATIVE;
	/* The interpreter itself is no native code of the program. */
	if (isc_spin_is(&frame))
		what.state = ISC_STATE_SPIN;
	else if (b->facts.native_off)
		what.state = ISC_STATE_ON_CPU;
	else if (what.native && !isc_interpreter_is(&frame))
		what.state = ISC_STATE_NATIVE;
	return what;
}

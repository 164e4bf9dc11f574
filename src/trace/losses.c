/*
 * losses.c - between which moments the events of a stream were lost.
 *
 * Numbers say that events are missing, and the neighbours that arrived say when
 * that was.  Where one of the two is missing too, the account of the stream
 * counts the loss; then it began after the thread did, and ended before the clock
 * was read next.
 */
#include "base/grow.h"
#include "trace/writing.h"

/* Starts are taken from several clocks, the coarsest of which moves in steps of 10 ms. */
#define START_SLACK_NS 20000000u

static bool is_settled(const isc_writer *w, const isc_writer_loss *loss, bool last)
{
	return loss->to != 0 || last || w->last_pair.ticks > loss->told;
}

/* The ticks of a moment, or some before it. */
static uint64_t ticks_before(const isc_writer *w, uint64_t ns)
{
	uint64_t ticks = w->header.start_ticks;

	for (size_t i = 0; i < w->state.pair_count; i++) {
		const isc_clock_pair *pair = &w->state.pairs[i];

		if (pair->mono_ns + START_SLACK_NS <= ns && pair->ticks > ticks)
			ticks = pair->ticks;
	}
	return ticks;
}

static uint64_t begin_of(const isc_writer *w, uint32_t process, uint32_t thread)
{
	const isc_trace_thread *t = thread != 0 ? isc_session_state_thread(&w->state, thread) : NULL;
	const isc_trace_process *p = isc_session_state_process(&w->state, process);

	return ticks_before(w, t != NULL ? t->start_ns : p != NULL ? p->start_ns : 0);
}

static void settle_loss(isc_writer *w, const isc_writer_loss *loss, bool last)
{
	uint64_t from = loss->from != 0 ? loss->from : begin_of(w, loss->process, loss->thread);
	uint64_t to = loss->to != 0 ? loss->to : w->last_pair.ticks;

	/* One that has no length touches whatever it lies in. */
	if (last && loss->to == 0)
		isc_unit_log_lost_on(w->units, loss->process, from);
	else
		isc_unit_log_gap(w->units, loss->process, ISC_GAP_LOST, from, to > from ? to : from + 1);
}

static void add_loss(isc_writer *w, const isc_writer_loss *loss)
{
	isc_writer_loss *bigger;

	/* What is known of a thread is written after its first events. */
	if (loss->from != 0 && loss->to != 0) {
		settle_loss(w, loss, false);
		return;
	}
	bigger = isc_grow(w->losses, w->loss_count, &w->loss_room, sizeof(*loss));
	if (bigger == NULL) {
		settle_loss(w, loss, true);
		return;
	}
	w->losses = bigger;
	w->losses[w->loss_count++] = *loss;
}

void isc_writer_lose_process(isc_writer *w, uint32_t process, uint64_t from)
{
	add_loss(w, &(isc_writer_loss){.process = process, .from = from, .told = w->last_pair.ticks});
}

void isc_writer_lose(isc_writer *w, const isc_writer_stream *s, uint64_t from, uint64_t to)
{
	const isc_writer_loss loss = {s->process, s->thread, from, to, w->last_pair.ticks};

	add_loss(w, &loss);
	/* The recorder before this one may have read it and written nothing of it. */
	if (w->resumed)
		isc_unit_log_unsure(w->units, s->process, from != 0 ? from : begin_of(w, s->process, s->thread));
}

void isc_writer_lose_counted(isc_writer *w, const isc_trace_account *account)
{
	isc_writer_stream *s;
	uint64_t seen;

	/* The account that several share says again what theirs have said. */
	if (account->lost == 0 || account->process == 0)
		return;
	s = isc_writer_stream_of(w, account->process, account->thread, account->stream);
	if (s == NULL) {
		isc_writer_lose_process(w, account->process, 0);
		return;
	}
	seen = s->next > s->told ? s->next : s->told;
	if (account->produced <= seen)
		return;
	isc_writer_lose(w, s, s->last, 0);
	s->told = account->produced;
	/* What is lost from here on is counted later. */
	s->last = w->last_pair.ticks > s->last ? w->last_pair.ticks : s->last;
}

uint64_t isc_writer_losses_since(const isc_writer *w)
{
	uint64_t at = UINT64_MAX;

	for (size_t i = 0; i < w->loss_count; i++)
		at = w->losses[i].from < at ? w->losses[i].from : at;
	return at;
}

void isc_writer_losses_flush(isc_writer *w, bool last)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->loss_count; i++) {
		if (is_settled(w, &w->losses[i], last))
			settle_loss(w, &w->losses[i], last);
		else
			w->losses[kept++] = w->losses[i];
	}
	w->loss_count = kept;
}

#include "analyze/tail_walk.h"

void isc_tail_pieces_put(isc_tail_pieces *p, isc_tail_piece piece)
{
	p->at[p->next] = piece;
	p->next = (p->next + 1) % ISC_TAIL_PIECES;
	p->count += p->count < ISC_TAIL_PIECES;
}

static bool take_back(isc_tail_sums *s, const isc_tail_piece *piece)
{
	if (!piece->sample)
		s->told[piece->state] -= piece->us;
	else
		*(piece->state == ISC_STATE_PYTHON ? &s->python_us
		  : piece->state == ISC_STATE_SPIN ? &s->spin_us
						   : &s->native_us) -= piece->us;
	return piece->key == 0 || isc_cells_add(&s->cells, piece->key, 0, -piece->us);
}

bool isc_tail_gpu_wait(const isc_tail_pieces *p, isc_tail_pile *pile, uint64_t from_ns, double us, double since_us,
		       uint32_t key, uint32_t run)
{
	isc_tail_sums *s = &pile->top->own;
	double ran = since_us - us;

	for (unsigned i = 0; i < p->count; i++) {
		const isc_tail_piece *piece = &p->at[i];

		if (piece->at_ns < from_ns)
			continue;
		if (!take_back(s, piece))
			return false;
		ran += piece->sample ? 0 : piece->us;
	}
	s->told[ISC_STATE_GPU_WAIT] += us;
	/* Between what was told inside the call it was said to run. */
	s->run_us += ran;
	return isc_cells_add(&s->cells, run, 0, ran) && isc_cells_add(&s->cells, key, 1, us);
}

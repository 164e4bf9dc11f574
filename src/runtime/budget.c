#include "runtime/budget.h"

isc_budget isc_budget_self;

void isc_budget_set(int64_t most)
{
	atomic_store(&isc_budget_self.most, most);
	atomic_store(&isc_budget_self.tokens, most);
}

int64_t isc_budget_fill(int64_t ticks)
{
	int64_t most = atomic_load_explicit(&isc_budget_self.most, memory_order_relaxed);
	int64_t now = atomic_load_explicit(&isc_budget_self.tokens, memory_order_relaxed), then;

	do {
		then = now + ticks < most ? now + ticks : most;
	} while (!atomic_compare_exchange_weak_explicit(&isc_budget_self.tokens, &now, then, memory_order_relaxed,
							memory_order_relaxed));
	return then;
}

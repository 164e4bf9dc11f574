/*
 * rate.c - how many bytes there are between two allocations that are looked at, inside the budget.
 *
 * What looks cost is a debt, which time in which the program works pays off.  When it is too high the mean doubles, and
 * when it has been paid off it halves, down to what was asked for; the latter needs no further look, so that one burst
 * does not leave a program unseen that takes little from then on.
 */
#include "collect/memory/memory.h"

#include <stdatomic.h>
#include <string.h>

#define SHARE 32	     /* of the budget: the most that samples of memory may take of it, some seventy a second */
#define SPAN_US 2500000.0    /* in so much time it may be taken at once: a program that is loading takes the most */
#define MEAN_MOST (1u << 26) /* bytes: enough for any program that does something with its memory */
#define COST_US 5u	     /* of the first sample, until it is known better */
#define LOOKS 16u	     /* between two times that the mean doubles */
#define FALL_US 10000u	     /* between two times that it halves */

/* Costs are smoothed, and no sample counts for more than twice the usual: the first ones of a process define modules
 * and stacks that are known from then on, and some are interrupted.  Where all are dear that is known after some fifty. */
static double smooth(isc_memory_rate *r, const isc_memory_limits *l, uint64_t ticks)
{
	uint64_t usual = atomic_load_explicit(&r->cost, memory_order_relaxed);

	usual = usual != 0 ? usual : (uint64_t)COST_US * l->ticks_per_us;
	ticks = ticks < 2 * usual ? ticks : 2 * usual;
	atomic_store_explicit(&r->cost, (uint32_t)(usual - usual / 16 + ticks / 16), memory_order_relaxed);
	return (double)ticks;
}

static double share_of(const isc_memory_limits *l)
{
	return l->budget_pct >= 0 ? (double)l->budget_pct / 100 / SHARE : 1;
}

/* Of two threads that come here at once one may be forgotten: the next one tells. */
static double pay(isc_memory_rate *r, const isc_memory_limits *l, uint64_t now, double more)
{
	uint64_t before = atomic_exchange_explicit(&r->looked, now, memory_order_relaxed);
	double debt = (double)atomic_load_explicit(&r->debt, memory_order_relaxed), share = share_of(l);
	double most = SPAN_US * (double)l->ticks_per_us * share;

	debt -= before != 0 && now > before ? (double)(now - before) * share : 0;
	debt = (debt > 0 ? debt : 0) + more;
	/* What is above the most by far would keep the mean up for long. */
	debt = debt < most * 1.25 ? debt : most * 1.25;
	atomic_store_explicit(&r->debt, (int64_t)debt, memory_order_relaxed);
	return debt / most;
}

static void change(isc_memory_rate *r, uint64_t now, uint32_t mean)
{
	atomic_store_explicit(&r->mean, mean, memory_order_relaxed);
	atomic_store_explicit(&r->changed, now, memory_order_relaxed);
	atomic_store_explicit(&r->looks, 0, memory_order_relaxed);
}

static void fall(isc_memory_rate *r, const isc_memory_limits *l, uint64_t now, double debt)
{
	uint32_t mean = isc_memory_rate_mean(r, l);

	if (debt < 0.5 && mean > l->asked &&
	    now - atomic_load_explicit(&r->changed, memory_order_relaxed) > (uint64_t)FALL_US * l->ticks_per_us)
		change(r, now, mean / 2 > l->asked ? mean / 2 : l->asked);
}

/* -ln of a number between 0 and 1, as libm has no place here: the mantissa by the series of the area tangent. */
static double minus_log(uint64_t bits)
{
	double u = (double)((bits >> 11) + 1) * 0x1p-53, z, zz, sum = 0;
	uint64_t raw;
	int exponent;

	memcpy(&raw, &u, sizeof(raw));
	exponent = (int)(raw >> 52) - 1023;
	raw = (raw & 0xfffffffffffffull) | 1023ull << 52;
	memcpy(&u, &raw, sizeof(u));
	z = (u - 1) / (u + 1);
	zz = z * z;
	for (int k = 19; k > 0; k -= 2)
		sum = sum * zz + 1.0 / k;
	return -((double)exponent * 0.69314718055994530942 + 2 * z * sum);
}

uint64_t isc_memory_rate_draw(uint32_t mean, uint64_t bits)
{
	return (uint64_t)(minus_log(bits) * mean) + 1;
}

uint32_t isc_memory_rate_mean(const isc_memory_rate *r, const isc_memory_limits *l)
{
	uint32_t mean = atomic_load_explicit(&r->mean, memory_order_relaxed);

	return mean != 0 ? mean : l->asked;
}

void isc_memory_rate_spent(isc_memory_rate *r, const isc_memory_limits *l, uint64_t now, uint64_t ticks, bool full)
{
	uint32_t looks = atomic_fetch_add_explicit(&r->looks, 1, memory_order_relaxed) + 1;
	uint32_t mean = isc_memory_rate_mean(r, l);
	double debt = pay(r, l, now, smooth(r, l, ticks));

	if (!full && debt <= 1)
		fall(r, l, now, debt);
	else if (looks >= LOOKS && mean < MEAN_MOST)
		change(r, now, mean * 2);
}

void isc_memory_rate_passed(isc_memory_rate *r, const isc_memory_limits *l, uint64_t now, bool full)
{
	double debt = pay(r, l, now, 0);

	if (!full)
		fall(r, l, now, debt);
}

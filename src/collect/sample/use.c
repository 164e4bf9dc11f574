/*
 * use.c - who wants samples: a session, the profiler of this process, or both.
 *
 * A profile inside a session shares the session's steps.  A session stays
 * for good.  A profile ends, and then nothing of it is left: no timer, no
 * descriptor, and where the program had no handler for the signal, none of ours.
 */
#include "collect/hooks/hook.h"

#include "collect/sample/sample.h"

#include <dlfcn.h>
#include <time.h>

#include "collect/memory/memory.h"
#include "collect/profile/profile.h"
#include "runtime/image.h"
#include "runtime/kernel.h"
#include "runtime/profile.h"
#include "runtime/runtime.h"
#include "runtime/write.h"

#define QUIET_NS 2000000000u /* patience with a handler */

enum { USER_SESSION = 1u << 0, USER_PROFILE = 1u << 1 };

static _Atomic uint32_t users;
static _Atomic bool ended;
static _Atomic uint32_t inside;

bool isc_sample_on(void)
{
	return atomic_load(&users) != 0 && !atomic_load_explicit(&ended, memory_order_relaxed);
}

bool isc_sample_for_session(void)
{
	return (atomic_load_explicit(&users, memory_order_relaxed) & USER_SESSION) != 0;
}

/* Sequentially consistent, as users is: whoever is not seen inside sees that there are none. */
void isc_sample_inside(bool enter)
{
	if (enter)
		atomic_fetch_add(&inside, 1);
	else
		atomic_fetch_sub(&inside, 1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool isc_sample_quiet(void)
{
	uint64_t until = now_ns() + QUIET_NS;

	/* A session samples on, and then it is enough that each was outside once. */
	while (atomic_load(&inside) != 0) {
		if (now_ns() > until)
			return false;
		isc_kernel_yield();
	}
	return true;
}

/* Do the program's calls come to us?  Not when we were loaded by the package alone. */
static bool hooked(void)
{
	static _Atomic uint32_t known; /* 1: no, 2: yes.  Looked up once: not in fork children */
	void *found;
	Dl_info theirs, ours;

	if (atomic_load(&known) == 0) {
		found = dlsym(RTLD_DEFAULT, "sigaction");
		atomic_store(&known, found != NULL && dladdr(found, &theirs) != 0 &&
						     dladdr((void *)hooked, &ours) != 0 &&
						     theirs.dli_fbase == ours.dli_fbase
					     ? 2
					     : 1);
	}
	return atomic_load(&known) == 2;
}

bool isc_rt_profile_hooked(void)
{
	return hooked();
}

/* ---- sessions ------------------------------------------------------------ */

/* A fork child has one thread and no timers, and does not go on with its parent's profile. */
static void forked(void)
{
	isc_sample_places_forked();
	atomic_fetch_and(&users, ~(uint32_t)USER_PROFILE);
	atomic_store(&inside, 0);
	isc_fault_forked();
	isc_sample_native_forked();
	isc_sample_signal_forked();
	isc_profile_forked();
}

void isc_image_arrived(uint16_t birth)
{
	const isc_control *control = isc_rt_control();
	bool is_hooked;

	isc_memory_arrived(birth);
	if (birth == ISC_BIRTH_FORK && atomic_load(&users) != 0)
		forked();
	if (control == NULL || (control->flags & ISC_CONTROL_SAMPLE) == 0 || control->rate_hz == 0 ||
	    isc_image_following() != ISC_FOLLOWING_YES || atomic_load(&ended))
		return;
	if (!isc_sample_for_session()) {
		if (birth == ISC_BIRTH_FORK)
			return; /* a child of one that was not sampled: looking up symbols is not for here */
		isc_sample_rate_begin(1000000000u / control->rate_hz, control->budget_pct);
		if (atomic_load(&users) == 0) {
			is_hooked = hooked();
			isc_sample_hooked(is_hooked);
			if (!isc_sample_signal_begin(is_hooked))
				return;
			isc_fault_begin(is_hooked);
			isc_sample_native_begin(control->flags);
		}
		atomic_fetch_or(&users, USER_SESSION);
	}
	isc_sample_begin_self();
	isc_sample_blocked(isc_image_self.mask);
}

void isc_sample_give_way(void)
{
	if (!isc_sample_on() || atomic_exchange(&ended, true))
		return;
	if (isc_sampled_self != NULL)
		isc_sample_pause(isc_sampled_self, true);
	if (isc_sample_for_session())
		isc_write1(isc_ticks(),
			   ISC_RECORD_WORD(isc_sample_period_ns(), ISC_KIND_SAMPLE_RATE, ISC_SAMPLE_RATE_ENDED));
}

/* ---- profiles ------------------------------------------------------------ */

/* A session that wants no more samples leaves its timers unarmed. */
static void leave_session(void)
{
	const isc_control *control = isc_rt_control();

	if (!isc_sample_for_session() || control == NULL ||
	    atomic_load_explicit(&control->phase, memory_order_relaxed) != ISC_PHASE_DONE)
		return;
	atomic_fetch_and(&users, ~(uint32_t)USER_SESSION);
	isc_sample_quiet();
	isc_sample_end_known();
}

static uint32_t native_flags(uint32_t native)
{
	return native == ISC_PROFILE_NATIVE_ALL	   ? ISC_CONTROL_NATIVE
	       : native == ISC_PROFILE_NATIVE_LEAF ? ISC_CONTROL_NATIVE_LEAF
						   : 0;
}

int isc_sample_profile_begin(const isc_profile_options *options, uint32_t *shared_ns)
{
	const isc_python_layout *l = isc_sample_layout();
	isc_guard guard;

	if (atomic_load(&ended))
		return EBUSY;
	leave_session();
	if (isc_sample_for_session()) {
		*shared_ns = isc_sample_asked_ns();
		return 0;
	}
	isc_sample_rate_begin(options->interval_ns, -1);
	/* With a handler of the program, too: ours calls it. */
	if (!isc_sample_signal_begin(true))
		return errno != 0 ? errno : EBUSY;
	isc_fault_begin(hooked());
	isc_sample_hooked(hooked());
	isc_sample_native_begin(native_flags(options->native));
	if (l != NULL)
		isc_sample_native_python(l);
	isc_guard_enter(&guard);
	atomic_fetch_or(&users, USER_PROFILE);
	isc_sample_begin_self();
	isc_sample_blocked(guard.mask);
	isc_sample_search(true); /* first: those that have gone are known no longer */
	isc_sample_begin_known();
	isc_guard_leave(&guard);
	return 0;
}

bool isc_sample_profile_end(void)
{
	if ((atomic_fetch_and(&users, ~(uint32_t)USER_PROFILE) & USER_PROFILE) == 0 || isc_sample_for_session()) {
		isc_sample_quiet();
		return false;
	}
	isc_sample_quiet();
	/* A handler of the program's must not find our stack: ours takes it back first. */
	if (!isc_sample_end_known())
		isc_fault_end();
	return !isc_sample_signal_end();
}

void isc_sample_profile_forked(void)
{
	if (!isc_sample_for_session())
		forked();
}

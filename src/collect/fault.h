/*
 * fault.h - loads that may fault, inside the program.
 *
 *	if (sigsetjmp(fault->escape, 0) == 0) {
 *		isc_fault_arm(fault);
 *		... loads only ...
 *		isc_fault_disarm(fault);
 *	} else {
 *		it faulted, and is disarmed
 *	}
 *
 * A fault that is not ours is the program's: our handler puts the program's own
 * back and returns, the instruction faults again, and all is as if we had never
 * been there.  The next sample puts ours in again.
 */
#ifndef ISC_COLLECT_FAULT_H
#define ISC_COLLECT_FAULT_H

#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct isc_fault {
	sigjmp_buf escape;
	volatile sig_atomic_t armed;
} isc_fault;

/* The compiler must not move loads out, nor drop the first store as dead. */
static inline void isc_fault_arm(isc_fault *fault)
{
	fault->armed = 1;
	atomic_signal_fence(memory_order_seq_cst);
}

static inline void isc_fault_disarm(isc_fault *fault)
{
	atomic_signal_fence(memory_order_seq_cst);
	fault->armed = 0;
}

/* Puts our handlers in.  hooked: we see what the program does with its own. */
void isc_fault_begin(bool hooked);

/* Takes them out again where they are still there. */
void isc_fault_end(void);

/* Would a fault now come to us?  Puts our handler back in if it had stepped
 * aside.  Signal-safe; one system call. */
bool isc_fault_caught(void);

/* sigaction() for SIGSEGV and SIGBUS once ours are in; false: not our business. */
bool isc_fault_action(int number, const struct sigaction *action, struct sigaction *old, int *result);

/* Another program is about to be started here: signals that the program ignores are ignored, and which those
 * were; and caught again.  In a vfork child as well. */
uint32_t isc_fault_ignore(void);
void isc_fault_catch(uint32_t ignored);

/* In a fork child: nobody holds the lock. */
void isc_fault_forked(void);

#endif

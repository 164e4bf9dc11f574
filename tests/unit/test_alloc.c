/* Allocation before the allocator is known.  This program has the hooks in it, so
 * they are its allocator, and it looks the real one up in the clumsiest way. */
#include "collect/hooks/hook.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collect/memory/hooks.h"
#include "collect/memory/memory.h"

void *isc_hook_real[ISC_HOOK_COUNT];

/* What is done with allocations that are looked at is another's test; here they are only told apart. */
__thread isc_memory_thread *isc_memory_self;
_Atomic bool isc_memory_on;
static isc_memory_set set;
static unsigned took, gone;
static volatile unsigned freed; /* what the compiler thinks that free() leaves alone */
static bool due_now;

bool isc_memory_due(size_t size)
{
	if (isc_memory_self == NULL)
		return false;
	isc_memory_self->calls++;
	isc_memory_self->drawn += size;
	return due_now;
}

void isc_memory_took(void *p, size_t size, enum isc_memory_call call, const void *caller)
{
	isc_memory_item item = {.bytes = size, .call = call};

	assert_non_null(caller);
	if (p != NULL) {
		took++;
		isc_memory_set_add(&set, p, &item);
	}
}

bool isc_memory_take_out(const void *p, isc_memory_item *item)
{
	return isc_memory_set_take(&set, p, item);
}

void isc_memory_put_back(const void *p, const isc_memory_item *item)
{
	isc_memory_set_add(&set, p, item);
}

void isc_memory_gone(const void *p, const isc_memory_item *item)
{
	(void)p;
	(void)item;
	gone++;
}

void isc_memory_freed(const void *p)
{
	freed += p != NULL && isc_memory_self == NULL;
}

void isc_memory_free(const void *p)
{
	isc_memory_item item;

	isc_memory_freed(p);
	gone += isc_memory_set_take(&set, p, &item);
}

void isc_memory_mapped(void *at, size_t len, const void *caller)
{
	(void)at;
	(void)len;
	(void)caller;
}

void isc_memory_unmapped(void *at, size_t len)
{
	(void)at;
	(void)len;
}

void isc_memory_moved(const isc_memory_item *item, const void *from, void *to, size_t len)
{
	(void)item;
	(void)from;
	(void)to;
	(void)len;
}

static const char *const names[] = {
#define NAME(group, fails, name, version) #name,
	ISC_HOOKS(NAME)};

/* What the lookup was given for its own needs.  Volatile: libc's headers say that
 * malloc does not come back into this file. */
static char *volatile taken, *volatile cleared, *volatile grown;
static volatile bool too_much, clumsy;
static volatile int lookups;
static volatile size_t huge = SIZE_MAX / 2;
static void *volatile kept; /* so that no call is left out as useless */

/* A lookup that itself allocates, grows and frees, as the one of older libcs does. */
void *isc_hook_resolve(enum isc_hook_id id)
{
	void *real;

	lookups = lookups + 1;
	isc_alloc_lookup_begin();
	if (clumsy) {
		clumsy = false;
		taken = malloc(100);
		cleared = calloc(10, 10);
		grown = realloc(malloc(10), 200);
		errno = 0;
		kept = malloc(1 << 20);
		too_much = kept == NULL && errno == ENOMEM;
		kept = calloc(huge, 4);
		too_much = too_much && kept == NULL;
		kept = malloc(50);
		free(kept);
	}
	real = dlsym(RTLD_NEXT, names[id]);
	isc_alloc_lookup_end();
	isc_hook_real[id] = real;
	return real;
}

static void a_lookup_that_allocates_gets_memory(void **state)
{
	(void)state;
	/* As on the first day: what ran before main has had it looked up. */
	memset(isc_hook_real, 0, sizeof(isc_hook_real));
	clumsy = true;
	kept = malloc(1);
	free(kept);
	assert_false(clumsy);
	assert_non_null(taken);
	assert_non_null(cleared);
	assert_non_null(grown);
	assert_true(too_much);
	memset(taken, 1, 100);
	memset(grown, 2, 200);
	for (int i = 0; i < 100; i++)
		assert_int_equal(cleared[i], 0);
	assert_int_equal((uintptr_t)taken % 16, 0);
	assert_int_equal((uintptr_t)cleared % 16, 0);
}

static void its_memory_can_be_used_like_any_other(void **state)
{
	char *moved;

	(void)state;
	strcpy(taken, "kept");
	assert_true(malloc_usable_size(taken) >= 100);
	moved = realloc(taken, 5000);
	assert_string_equal(moved, "kept");
	assert_ptr_not_equal(moved, taken);
	free(moved);
	moved = reallocarray(cleared, 3, 4);
	assert_non_null(moved);
	free(moved);
	errno = 0;
	assert_null(reallocarray(grown, huge, 4));
	assert_int_equal(errno, ENOMEM);
	free(taken);
	free(cleared);
	free(grown);
}

static void each_function_is_looked_up_once(void **state)
{
	int before = 0;

	(void)state;
	for (int i = 0; i < 2; i++) {
		before = lookups;
		for (int k = 0; k < 100; k++) {
			kept = realloc(calloc(1, 10), 20);
			free(kept);
		}
	}
	assert_int_equal(lookups, before);
}

/* Out of sight: the compiler knows of no malloc() that counts. */
static void count_in(isc_memory_thread *thread)
{
	__asm__ volatile("" ::: "memory");
	isc_memory_self = thread;
	__asm__ volatile("" ::: "memory");
}

/* Nothing is left to the next one that is due: each call is. */
static void every_way_of_taking_is_noted_and_given_back(void **state)
{
	static isc_memory_thread self;
	void *p[9] = {NULL};

	(void)state;
	count_in(&self);
	due_now = true;
	took = gone = 0;
	kept = p[0] = malloc(10);
	kept = p[1] = calloc(3, 10);
	kept = p[2] = realloc(malloc(10), 2000);
	kept = p[3] = reallocarray(malloc(10), 10, 10);
	assert_int_equal(posix_memalign(&p[4], 64, 100), 0);
	kept = p[5] = aligned_alloc(64, 128);
	kept = p[6] = memalign(64, 100);
	kept = p[7] = valloc(100);
	kept = p[8] = pvalloc(100);
	assert_int_equal(took, 11);
	assert_int_equal(gone, 2);
	/* What could not grow is still there. */
	assert_null(realloc(p[0], huge));
	assert_int_equal(gone, 2);
	for (int i = 0; i < 9; i++)
		free(p[i]);
	count_in(NULL);
	assert_int_equal(gone, 11);
	assert_int_equal(self.calls, 12);
	assert_int_equal(self.frees, 12);
	assert_int_equal(atomic_load(&set.count), 0);
}

static void memory_that_is_only_counted_goes_straight_through(void **state)
{
	static isc_memory_thread self = {.left = 1000};

	(void)state;
	count_in(&self);
	took = gone = 0;
	for (int i = 0; i < 10; i++) {
		kept = malloc(99);
		free(kept);
	}
	count_in(NULL);
	assert_int_equal(self.left, 10);
	assert_int_equal(self.calls, 10);
	assert_int_equal(self.frees, 10);
	assert_int_equal(took + gone, 0);
}

/* Its place is made by what is told, which is told once for each. */
static void a_thread_without_a_place_tells_what_it_frees(void **state)
{
	void *p[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		kept = p[i] = malloc(10);
	due_now = false;
	freed = 0;
	atomic_store(&isc_memory_on, true);
	free(p[0]);
	assert_int_equal(freed, 1);
	kept = p[1] = realloc(p[1], 40);
	assert_int_equal(freed, 2);
	kept = p[2] = reallocarray(p[2], 5, 10);
	assert_int_equal(freed, 3);
	free(NULL);
	atomic_store(&isc_memory_on, false);
	free(p[1]);
	free(p[2]);
	assert_int_equal(freed, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lookup_that_allocates_gets_memory),
		cmocka_unit_test(its_memory_can_be_used_like_any_other),
		cmocka_unit_test(each_function_is_looked_up_once),
		cmocka_unit_test(every_way_of_taking_is_noted_and_given_back),
		cmocka_unit_test(memory_that_is_only_counted_goes_straight_through),
		cmocka_unit_test(a_thread_without_a_place_tells_what_it_frees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Allocation before the allocator is known.  This program has the hooks in it, so
 * they are its allocator, and it looks the real one up in the clumsiest way. */
#include "collect/hook.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collect/alloc.h"

void *isc_hook_real[ISC_HOOK_COUNT];

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lookup_that_allocates_gets_memory),
		cmocka_unit_test(its_memory_can_be_used_like_any_other),
		cmocka_unit_test(each_function_is_looked_up_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

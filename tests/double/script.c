#include "double.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

script scripted;

static void per_device(double *to, const char *value)
{
	double last = 0;

	for (int i = 0; i < DEVICES_MAX; i++) {
		if (*value != '\0') {
			char *end;

			last = strtod(value, &end);
			value = *end == '/' ? end + 1 : "";
		}
		to[i] = last;
	}
}

static uint32_t version_of(const char *generation)
{
	return strcmp(generation, "11") == 0   ? ISC_CUPTI_11_0
	       : strcmp(generation, "12") == 0 ? ISC_CUPTI_12_5
	       : strcmp(generation, "13") == 0 ? ISC_CUPTI_13_0_1
					       : (uint32_t)strtoul(generation, NULL, 10);
}

static void copy_text(char *to, size_t room, const char *value)
{
	snprintf(to, room, "%s", value);
}

static void set(const char *key, const char *value)
{
	script *s = &scripted;

#define NUMBER(name) \
	if (strcmp(key, #name) == 0) { \
		s->name = (__typeof__(s->name))strtod(value, NULL); \
		return; \
	}
#define LIST(name) \
	if (strcmp(key, #name) == 0) { \
		per_device(s->name, value); \
		return; \
	}
#define TEXT(name) \
	if (strcmp(key, #name) == 0) { \
		copy_text(s->name, sizeof(s->name), value); \
		return; \
	}
	NUMBER(devices)
	NUMBER(wander_s)
	NUMBER(step_us)
	NUMBER(step_at_ms)
	NUMBER(kernel_us)
	NUMBER(launch_us)
	NUMBER(call_us)
	NUMBER(gbps)
	NUMBER(zero_every)
	NUMBER(drop_every)
	NUMBER(early_every)
	NUMBER(late)
	NUMBER(held)
	NUMBER(nested)
	NUMBER(graph_kernels)
	NUMBER(fail_code)
	NUMBER(fail_after)
	LIST(offset_us)
	LIST(drift_ppm)
	LIST(wander_us)
	TEXT(fail)
	TEXT(truth)
	TEXT(log)
	if (strcmp(key, "generation") == 0) {
		s->version = version_of(value);
		return;
	}
	/* A test with a slip of the pen is no test. */
	fprintf(stderr, "CUDA_DOUBLE: no such key: %s\n", key);
	abort();
}

bool script_fails(const char *name)
{
	if (strcmp(scripted.fail, name) != 0)
		return false;
	return scripted.fail_after-- <= 0;
}

/* Before anything else of us: the injection calls back into the functions that ask. */
__attribute__((constructor)) static void read_script(void)
{
	char text[4096], *rest = text, *item;
	const char *given = getenv("CUDA_DOUBLE");

	scripted = (script){.devices = 1,
			    .version = ISC_CUPTI_13_0_1,
			    .kernel_us = 50,
			    .launch_us = 5,
			    .gbps = 12,
			    .wander_s = 20,
			    .graph_kernels = 10,
			    .fail_code = ISC_CUPTI_UNKNOWN};
	copy_text(text, sizeof(text), given != NULL ? given : "");
	while ((item = strsep(&rest, ";")) != NULL) {
		char *equals = strchr(item, '=');

		if (equals == NULL)
			continue;
		*equals = '\0';
		set(item, equals + 1);
	}
}

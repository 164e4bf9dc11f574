/* Any bytes as a settings file: an error or values inside their limits, never more. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "session/settings/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	isc_settings s;
	isc_error err;
	isc_buffer text = {0};

	must(isc_settings_init(&s, &err) == ISC_OK);
	if (isc_settings_parse(&s, (const char *)data, size, "fuzz.yaml", ISC_ORIGIN_PROJECT_FILE, &err) != ISC_OK)
		must(strncmp(err.what, "fuzz.yaml:", 10) == 0);
	must(s.rate_hz >= 10 && s.rate_hz <= 10000 && s.trace_size_mb <= 1048576);
	must(s.budget_pct == -1 || (s.budget_pct > 0 && s.budget_pct <= 100));
	must(s.delay_s >= 0 && s.duration_s >= 0 && s.wait_children_s >= 0 && s.delay_s <= 86400);
	must(s.trace != NULL && s.trace[0] != 0 && s.trace[0] != '/');
	must(s.python == NULL && !s.force && !s.enabled);
	must(s.reports.count <= ISC_SETTINGS_LIST_MAX && s.labels.count <= ISC_SETTINGS_LIST_MAX);
	for (size_t i = 0; i < s.labels.count; i++)
		must(strchr(s.labels.item[i], '=') > s.labels.item[i]);
	must(isc_settings_show(&s, &text, &err) == ISC_OK);
	for (size_t i = 0; i < text.len; i++)
		must(text.data[i] == '\n' || (unsigned char)text.data[i] >= 0x20);
	isc_buffer_fini(&text);
	isc_settings_fini(&s);
	return 0;
}

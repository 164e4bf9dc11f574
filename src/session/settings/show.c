#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "session/settings/settings.h"

/* Values come from files and variables, and this goes to terminals. */
static void add_escaped(isc_buffer *out, const char *text)
{
	isc_text_terminal(out, text, strlen(text), 0);
}

void isc_settings_value(const isc_settings *s, int row, isc_buffer *out)
{
	const isc_setting *setting = &isc_settings_table[row];
	const void *at = (const char *)s + setting->offset;
	const isc_setting_list *list = at;

	switch (setting->type) {
	case ISC_SETTING_BOOL:
		isc_buffer_text(out, *(const bool *)at ? "true" : "false");
		break;
	case ISC_SETTING_COUNT:
		isc_buffer_format(out, "%u", *(const uint32_t *)at);
		break;
	case ISC_SETTING_NUMBER:
	case ISC_SETTING_BUDGET:
		if (*(const double *)at < 0)
			isc_buffer_text(out, "off");
		else
			isc_buffer_format(out, "%.10g", *(const double *)at);
		break;
	case ISC_SETTING_CHOICE:
		isc_buffer_text(out, setting->choices[*(const int *)at]);
		break;
	case ISC_SETTING_WORD:
	case ISC_SETTING_PATH:
		add_escaped(out, *(char *const *)at ? *(char *const *)at : "-");
		break;
	default:
		for (size_t i = 0; i < list->count; i++) {
			isc_buffer_text(out, i ? ", " : "");
			add_escaped(out, list->item[i]);
		}
		if (list->count == 0)
			isc_buffer_text(out, "-");
	}
}

void isc_settings_origin(const isc_settings *s, int row, isc_buffer *out)
{
	const isc_setting *setting = &isc_settings_table[row];
	const isc_origin *origin = &s->origin[row];
	const char *file = origin->kind == ISC_ORIGIN_USER_FILE ? s->user_file : s->project_file;
	char name[48];

	switch (origin->kind) {
	case ISC_ORIGIN_USER_FILE:
	case ISC_ORIGIN_PROJECT_FILE:
		add_escaped(out, file ? file : "?");
		isc_buffer_format(out, ":%u", origin->line);
		break;
	case ISC_ORIGIN_VARIABLE:
		/* write_report has none of its own: naming a report switches it on. */
		isc_buffer_text(out, setting->variable ? setting->variable : "INFERSCOPE_REPORT");
		break;
	case ISC_ORIGIN_OPTION:
		isc_settings_option(row, origin->negated, name, sizeof(name));
		isc_buffer_format(out, "--%s", name);
		break;
	default:
		isc_buffer_text(out, "default");
	}
}

isc_status isc_settings_show(const isc_settings *s, isc_buffer *out, isc_error *err)
{
	isc_buffer value = {0};
	bool failed;

	for (int i = 0; i < ISC_SETTINGS_COUNT; i++) {
		isc_buffer_clear(&value);
		isc_settings_value(s, i, &value);
		isc_buffer_format(out, "%-22s%-24s  ", isc_settings_table[i].key, value.data ? value.data : "");
		isc_settings_origin(s, i, out);
		isc_buffer_text(out, "\n");
		out->failed = out->failed || value.failed;
	}
	failed = out->failed;
	isc_buffer_fini(&value);
	return failed ? isc_fail(err, ISC_ERR_NOMEM, "no memory for the settings") : ISC_OK;
}

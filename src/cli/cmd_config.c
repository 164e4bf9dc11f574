#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "cli/commands.h"
#include "cli/options.h"

static int show(const isc_settings *s, isc_error *err)
{
	isc_buffer text = {0};
	isc_status st = isc_settings_show(s, &text, err);

	if (st == ISC_OK && (fwrite(text.data, 1, text.len, stdout) != text.len || fflush(stdout) != 0)) {
		st = isc_fail_errno(err, "cannot print the settings");
		isc_hint(err, "see where the output goes");
	}
	isc_buffer_fini(&text);
	for (size_t i = 0; i < s->notes.count; i++)
		isc_log_write(&isc_cli_log, ISC_LOG_WARN, "%s", s->notes.item[i]);
	return st == ISC_OK ? ISC_EXIT_OK : isc_cli_fail(err, ISC_EXIT_FAILED);
}

int cmd_config(int argc, char **argv)
{
	isc_settings s;
	isc_error err;
	bool helped;
	int code;

	if (argc < 2 || strcmp(argv[1], "show") != 0) {
		if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
			puts("Usage: inferscope config show [OPTION...]\nPrint every setting, its value and where it "
			     "came from.\n\nTakes the options of run; inferscope config show --help lists them.");
			return ISC_EXIT_OK;
		}
		isc_fail(&err, ISC_ERR_INVALID,
			 argc < 2 ? "config: what to do is missing%s" : "config: unknown word %.80s",
			 argc < 2 ? "" : argv[1]);
		isc_hint(&err, "write inferscope config show");
		return isc_cli_fail(&err, ISC_EXIT_USAGE);
	}
	if (isc_settings_init(&s, &err) != ISC_OK)
		return isc_cli_fail(&err, ISC_EXIT_FAILED);
	/* The options may come first: their origin is higher, so files do not replace them. */
	if (isc_options_run(argc - 1, argv + 1, &s, NULL, &helped, &err) != ISC_OK)
		code = isc_cli_fail(&err, ISC_EXIT_USAGE);
	else if (helped)
		code = ISC_EXIT_OK;
	else if (isc_settings_load(&s, NULL, environ, &err) != ISC_OK)
		code = isc_cli_fail(&err, ISC_EXIT_USAGE);
	else
		code = show(&s, &err);
	isc_settings_fini(&s);
	return code;
}

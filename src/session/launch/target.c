#include "session/launch/target.h"

#include <stdlib.h>

isc_status isc_target_argv(int kind, char *const *argv, const char *python, char ***out, isc_error *err)
{
	static char module[] = "-m", code[] = "-c";
	size_t count = 0, used = 0;
	char **made;

	*out = NULL;
	if (argv == NULL || argv[0] == NULL)
		return isc_fail(err, ISC_ERR_INVALID, "there is nothing to run");
	if (kind != ISC_TARGET_COMMAND && (python == NULL || python[0] == 0))
		return isc_fail(err, ISC_ERR_INVALID, "there is no Python to run %s", argv[0]);
	while (argv[count] != NULL)
		count++;
	made = malloc((count + 3) * sizeof(*made));
	if (made == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for the command line");
	if (kind != ISC_TARGET_COMMAND)
		made[used++] = (char *)python;
	if (kind == ISC_TARGET_MODULE)
		made[used++] = module;
	else if (kind == ISC_TARGET_CODE)
		made[used++] = code;
	for (size_t i = 0; i < count; i++)
		made[used++] = argv[i];
	made[used] = NULL;
	*out = made;
	return ISC_OK;
}

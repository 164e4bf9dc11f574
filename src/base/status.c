#include "base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const texts[] = {
	[ISC_OK] = "ok",
	[ISC_ERR_NOMEM] = "no memory",
	[ISC_ERR_SYSTEM] = "system error",
	[ISC_ERR_DENIED] = "not permitted",
	[ISC_ERR_ABSENT] = "not there",
	[ISC_ERR_EXISTS] = "already there",
	[ISC_ERR_CORRUPT] = "damaged input",
	[ISC_ERR_VERSION] = "unknown version",
	[ISC_ERR_INVALID] = "invalid value",
	[ISC_ERR_LIMIT] = "limit reached",
	[ISC_ERR_UNSUPPORTED] = "not supported here",
};

const char *isc_status_text(isc_status status)
{
	if ((unsigned)status >= sizeof(texts) / sizeof(texts[0]))
		return "unknown status";
	return texts[status];
}

isc_status isc_fail(isc_error *err, isc_status status, const char *format, ...)
{
	va_list args;

	if (err == NULL)
		return status;
	err->status = status;
	err->sys = 0;
	err->hint[0] = 0;
	va_start(args, format);
	vsnprintf(err->what, sizeof(err->what), format, args);
	va_end(args);
	return status;
}

static isc_status status_of(int sys)
{
	switch (sys) {
	case EACCES:
	case EPERM:
		return ISC_ERR_DENIED;
	case ENOENT:
		return ISC_ERR_ABSENT;
	case ENOMEM:
		return ISC_ERR_NOMEM;
	default:
		return ISC_ERR_SYSTEM;
	}
}

isc_status isc_fail_errno(isc_error *err, const char *format, ...)
{
	int sys = errno;
	va_list args;
	size_t used;

	if (err == NULL)
		return status_of(sys);
	err->status = status_of(sys);
	err->sys = sys;
	err->hint[0] = 0;
	va_start(args, format);
	vsnprintf(err->what, sizeof(err->what), format, args);
	va_end(args);
	used = strlen(err->what);
	snprintf(err->what + used, sizeof(err->what) - used, ": %s", strerror(sys));
	return err->status;
}

void isc_hint(isc_error *err, const char *format, ...)
{
	va_list args;

	if (err == NULL)
		return;
	va_start(args, format);
	vsnprintf(err->hint, sizeof(err->hint), format, args);
	va_end(args);
}

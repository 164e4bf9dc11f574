#include "base/units.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>

#define MINUTE_US 60e6
#define HOUR_US 3600e6

const char *isc_units_count(isc_units *u, uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
	char *at = u->text;

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			*at++ = ',';
		*at++ = digits[i];
	}
	*at = 0;
	return u->text;
}

/* Three figures; 999.7 is 1000 and needs the next unit, which the caller has tried. */
static void three(isc_units *u, double value, const char *unit)
{
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(u->text, sizeof(u->text), "%.*f %s", decimals, value, unit);
}

/* As the JSON report has it: what is rounded once more must not come out otherwise there. */
static double as_told(double value)
{
	return fabs(value) < 1e12 ? round(value * 1e3) / 1e3 : value;
}

const char *isc_units_time(isc_units *u, double us)
{
	unsigned long long whole;

	us = as_told(us);
	if (!isfinite(us) || us < 0)
		snprintf(u->text, sizeof(u->text), "?");
	else if (us == 0)
		snprintf(u->text, sizeof(u->text), "0");
	else if (us < 0.9995)
		snprintf(u->text, sizeof(u->text), "%.0f ns", us * 1e3);
	else if (us < 999.5)
		three(u, us, "us");
	else if (us < 999.5e3)
		three(u, us / 1e3, "ms");
	else if (us < 2 * MINUTE_US)
		three(u, us / 1e6, "s");
	else if (us < 2 * HOUR_US) {
		whole = (unsigned long long)(us / 1e6 + 0.5);
		snprintf(u->text, sizeof(u->text), "%llu min %02llu s", whole / 60, whole % 60);
	} else if (us < 1e6 * HOUR_US) {
		whole = (unsigned long long)(us / MINUTE_US + 0.5);
		snprintf(u->text, sizeof(u->text), "%llu h %02llu min", whole / 60, whole % 60);
	} else {
		snprintf(u->text, sizeof(u->text), "%.3g h", us / HOUR_US);
	}
	return u->text;
}

const char *isc_units_percent(isc_units *u, double percent)
{
	percent = as_told(percent);
	if (!isfinite(percent) || percent < 0)
		snprintf(u->text, sizeof(u->text), "?");
	else if (percent > 0 && percent < 0.005)
		snprintf(u->text, sizeof(u->text), "<0.01%%");
	else if (percent > 0 && percent < 0.095)
		snprintf(u->text, sizeof(u->text), "%.2f%%", percent);
	else
		snprintf(u->text, sizeof(u->text), percent < 1e6 ? "%.1f%%" : "%.3g%%", percent);
	return u->text;
}

const char *isc_units_number(isc_units *u, double value)
{
	isc_units whole;

	/* A fraction of a large number says nothing. */
	if (fabs(value) >= 1e4 && fabs(value) < 1e15)
		value = round(value);
	if (!isfinite(value))
		snprintf(u->text, sizeof(u->text), "?");
	else if (fabs(value) < 1e15 && value == floor(value))
		snprintf(u->text, sizeof(u->text), "%s%.46s", value < 0 ? "-" : "",
			 isc_units_count(&whole, (uint64_t)fabs(value)));
	else
		snprintf(u->text, sizeof(u->text), "%.4g", value);
	return u->text;
}

const char *isc_units_signal(isc_units *u, int number)
{
	/* Not sigabbrev_np(), which is young, nor strsignal(), which speaks the user's language. */
	static const char *const names[] = {
		[SIGHUP] = "SIGHUP",	   [SIGINT] = "SIGINT",	  [SIGQUIT] = "SIGQUIT",   [SIGILL] = "SIGILL",
		[SIGTRAP] = "SIGTRAP",	   [SIGABRT] = "SIGABRT", [SIGBUS] = "SIGBUS",	   [SIGFPE] = "SIGFPE",
		[SIGKILL] = "SIGKILL",	   [SIGUSR1] = "SIGUSR1", [SIGSEGV] = "SIGSEGV",   [SIGUSR2] = "SIGUSR2",
		[SIGPIPE] = "SIGPIPE",	   [SIGALRM] = "SIGALRM", [SIGTERM] = "SIGTERM",   [SIGCHLD] = "SIGCHLD",
		[SIGCONT] = "SIGCONT",	   [SIGSTOP] = "SIGSTOP", [SIGTSTP] = "SIGTSTP",   [SIGTTIN] = "SIGTTIN",
		[SIGTTOU] = "SIGTTOU",	   [SIGURG] = "SIGURG",	  [SIGXCPU] = "SIGXCPU",   [SIGXFSZ] = "SIGXFSZ",
		[SIGVTALRM] = "SIGVTALRM", [SIGPROF] = "SIGPROF", [SIGWINCH] = "SIGWINCH", [SIGIO] = "SIGIO",
		[SIGSYS] = "SIGSYS",
	};
	int known = number > 0 && number < (int)(sizeof(names) / sizeof(names[0])) && names[number] != NULL;

	snprintf(u->text, sizeof(u->text), known ? "%s, signal %d" : "%ssignal %d", known ? names[number] : "", number);
	return u->text;
}

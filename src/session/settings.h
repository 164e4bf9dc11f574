/*
 * settings.h - what the user asked for, from four places: command line,
 * environment, .inferscope.yaml, default, in this order.
 *
 * One table in settings.c names every setting once: its key in the file, its
 * option, its variable, its type, its limits and its default; `config show`,
 * the options of `run` and the documentation come from that table.
 */
#ifndef ISC_SESSION_SETTINGS_H
#define ISC_SESSION_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum isc_follow { ISC_FOLLOW_PYTHON = 0, ISC_FOLLOW_ALL, ISC_FOLLOW_NONE };
enum isc_native { ISC_NATIVE_ON = 0, ISC_NATIVE_LEAF, ISC_NATIVE_OFF };
enum isc_log_level { ISC_LOG_DEBUG = 0, ISC_LOG_INFO, ISC_LOG_WARN, ISC_LOG_ERROR };
enum isc_progress { ISC_PROGRESS_AUTO = 0, ISC_PROGRESS_NEVER };

#define ISC_SETTINGS_LIST_MAX 64

typedef struct isc_setting_list {
	char *item[ISC_SETTINGS_LIST_MAX];
	size_t count;
} isc_setting_list;

typedef struct isc_settings {
	isc_setting_list reports;	/* paths; default report.md */
	isc_setting_list labels;	/* KEY=VALUE */
	char *format;			/* markdown, html, json or NULL: from the ending */
	char *trace;			/* default inferscope.isc */
	char *python;			/* NULL: chosen by session/interpreter.h */
	bool report;			/* false: --no-report */
	bool force;
	bool quiet;
	int log_level;			/* enum isc_log_level */
	int progress;			/* enum isc_progress */
	uint32_t trace_size_mb;		/* 0: unbounded */
	double budget_pct;		/* negative: off */
	uint32_t rate_hz;
	int native;			/* enum isc_native */
	int follow;			/* enum isc_follow */
	bool all_frames;
	bool c_calls;
	bool python_calls;		/* false: --no-python */
	bool sample;
	bool memory;
	bool syscalls;
	bool syscall_args;
	bool gpu;
	bool agent;
	double wait_children_s;
	double delay_s;
	double duration_s;		/* 0: to the end */
	uint32_t sync_error_margin_us;
} isc_settings;

#endif

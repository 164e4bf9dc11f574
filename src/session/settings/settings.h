/*
 * settings.h - what the user asked for, from four places: command line,
 * environment, .inferscope.yaml, default, in this order.
 *
 * One table in table.c names every setting once: its key in the file, its
 * option, its variable, its type, its limits and its default; `config show`,
 * the options of `run` and the documentation come from that table.
 */
#ifndef ISC_SESSION_SETTINGS_SETTINGS_H
#define ISC_SESSION_SETTINGS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/log.h"
#include "base/status.h"

enum isc_follow_mode { ISC_FOLLOW_PYTHON = 0, ISC_FOLLOW_ALL, ISC_FOLLOW_NONE };
enum isc_native { ISC_NATIVE_ON = 0, ISC_NATIVE_LEAF, ISC_NATIVE_OFF };
enum isc_progress { ISC_PROGRESS_AUTO = 0, ISC_PROGRESS_NEVER };

#define ISC_SETTINGS_LIST_MAX 64

typedef struct isc_setting_list {
	char *item[ISC_SETTINGS_LIST_MAX];
	size_t count;
} isc_setting_list;

/* Where a value came from; a later one of these wins. */
enum isc_origin_kind {
	ISC_ORIGIN_DEFAULT = 0,
	ISC_ORIGIN_USER_FILE,	 /* in the user's config folder */
	ISC_ORIGIN_PROJECT_FILE, /* .inferscope.yaml, found from the working directory upward */
	ISC_ORIGIN_VARIABLE,
	ISC_ORIGIN_OPTION
};

typedef struct isc_origin {
	int kind;      /* enum isc_origin_kind */
	uint32_t line; /* in a file, from 1 */
	bool negated;  /* by --no-... */
} isc_origin;

/* Rows of the table in table.c. */
#define ISC_SETTINGS_COUNT 31

typedef struct isc_settings {
	isc_setting_list reports; /* paths; default report.md */
	isc_setting_list labels;  /* KEY=VALUE */
	char *format;		  /* markdown, html, json or NULL: from the ending */
	char *trace;		  /* default inferscope.isc */
	char *python;		  /* NULL: chosen by isc_parts_python() */
	bool report;		  /* false: --no-report */
	bool force;
	bool quiet;
	int log_level;		/* enum isc_log_level */
	int progress;		/* enum isc_progress */
	uint32_t trace_size_mb; /* 0: unbounded */
	double budget_pct;	/* negative: off */
	uint32_t rate_hz;
	int native; /* enum isc_native */
	int follow; /* enum isc_follow_mode */
	bool all_frames;
	bool c_calls;
	bool python_calls; /* false: --no-python */
	bool sample;
	bool memory;
	uint32_t memory_sample_kb;
	bool syscalls;
	bool syscall_args;
	bool kernel_calls;
	bool gpu;
	bool agent;
	double wait_children_s;
	double delay_s;
	double duration_s; /* 0: to the end */
	uint32_t sync_error_margin_us;
	bool enabled; /* INFERSCOPE_ENABLED: a Python process traces itself */

	isc_origin origin[ISC_SETTINGS_COUNT]; /* in the order of the table */
	char *user_file;		       /* the files that were read; NULL: none */
	char *project_file;
	isc_setting_list notes; /* what a user should be warned of: unknown variables, ... */
} isc_settings;

enum isc_setting_type {
	ISC_SETTING_BOOL,   /* bool */
	ISC_SETTING_COUNT,  /* uint32_t */
	ISC_SETTING_NUMBER, /* double */
	ISC_SETTING_BUDGET, /* double, or "off": -1 */
	ISC_SETTING_CHOICE, /* int, index into choices */
	ISC_SETTING_WORD,   /* char *, one of choices */
	ISC_SETTING_PATH,   /* char * */
	ISC_SETTING_PATHS,  /* isc_setting_list */
	ISC_SETTING_LABELS  /* isc_setting_list of KEY=VALUE */
};

/* Where a setting cannot come from, for safety; see table.c. */
enum isc_setting_flag { ISC_SETTING_NOT_IN_FILE = 1 };

typedef struct isc_setting {
	const char *key;      /* in a file and in `config show` */
	const char *option;   /* of run, without dashes; NULL: none */
	const char *negated;  /* "no-gpu"; NULL: none */
	const char *variable; /* NULL: none */
	int type;	      /* enum isc_setting_type */
	unsigned flags;
	size_t offset;		    /* in isc_settings */
	double min, max;	    /* both allowed */
	const char *const *choices; /* ends with NULL */
	const char *standard;	    /* the default, as text; NULL: none */
	const char *argument;	    /* what help calls the value */
	const char *help;	    /* one line */
} isc_setting;

extern const isc_setting isc_settings_table[ISC_SETTINGS_COUNT];

/* Index of a key, -1 when there is none. */
int isc_settings_find(const char *key);

/* The option that sets a row, without dashes; negated: the one that switches it
 * off.  Every switch has both, so that the command line can undo a file; the table
 * names the one that help shows.  false: there is none. */
bool isc_settings_option(int row, bool negated, char *out, size_t room);

/* Sets every default; on failure there is nothing to release. */
isc_status isc_settings_init(isc_settings *s, isc_error *err);
void isc_settings_fini(isc_settings *s);

/* Reads the user's file, the project's file and the variables in env.  cwd NULL:
 * the working directory.  Command-line options are set afterwards. */
isc_status isc_settings_load(isc_settings *s, const char *cwd, char *const *env, isc_error *err);

/* One value as text, for the row of the table.  A value of a higher origin stays;
 * a list grows as long as its values come from the same origin. */
isc_status isc_settings_set(isc_settings *s, int row, const char *value, isc_origin origin, isc_error *err);

/* One file as text; name is for messages.  kind: one of the files'. */
isc_status isc_settings_parse(isc_settings *s, const char *text, size_t len, const char *name, int kind,
			      isc_error *err);

/* Value and origin of a row as text: "200", "INFERSCOPE_RATE", ".../.inferscope.yaml:3". */
void isc_settings_value(const isc_settings *s, int row, isc_buffer *out);
void isc_settings_origin(const isc_settings *s, int row, isc_buffer *out);

/* All of them, one per line: key, value, origin, in columns. */
isc_status isc_settings_show(const isc_settings *s, isc_buffer *out, isc_error *err);

#endif

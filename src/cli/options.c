#include "cli/options.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"

/* Keys for argp that are no letters: the place in the table follows. */
#define KEY_BASE 0x1000
#define KEY_HELP 'h'

typedef struct option_run {
	const isc_options *options;
	void *self;
	bool *helped;
	isc_status status;
	isc_error *err;
	const struct argp *argp;
	int failed_at; /* word behind the one that argp stumbled over */
} option_run;

/* The word that an option was given by, from state->argv: "--name", "--name=value" or "-x". */
static const char *given_as(const struct argp_state *state, const isc_option *option, const char *value)
{
	int at = state->next - 1;

	/* A value of its own word: the option is the word before. */
	if (option->argument != NULL && at > 0 && value == state->argv[at])
		at--;
	return state->argv[at];
}

/* getopt takes any beginning of a name; we want the whole. */
static bool is_whole(const char *word, const char *name)
{
	size_t len = name ? strlen(name) : 0;

	if (strncmp(word, "--", 2) != 0)
		return true;
	if (name == NULL)
		return false;
	return strncmp(word + 2, name, len) == 0 && (word[len + 2] == 0 || word[len + 2] == '=');
}

static isc_status fail_unknown(const isc_options *o, const char *word, isc_error *err)
{
	const char **names = calloc(o->count + 1, sizeof(*names));
	const char *nearest = NULL;
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	if (names != NULL) {
		for (size_t i = 0; i < o->count; i++)
			names[i] = o->table[i].name;
		names[o->count] = "help";
		nearest = isc_suggest(name + strspn(name, "-"), names, o->count + 1);
	}
	isc_fail(err, ISC_ERR_INVALID, "%s: unknown option %s", o->command, name);
	if (nearest != NULL)
		isc_hint(err, "did you mean --%s?", nearest);
	else
		isc_hint(err, "see inferscope %s --help", o->command);
	free(names);
	return ISC_ERR_INVALID;
}

/* argp says only that something is wrong with a word; find out what. */
static isc_status fail_word(const isc_options *o, const char *word, isc_error *err)
{
	for (size_t i = 0; i < o->count; i++) {
		const isc_option *option = &o->table[i];
		bool short_form = word[0] == '-' && option->letter && word[1] == option->letter;

		if (!short_form &&
		    (option->name == NULL || strncmp(word, "--", 2) != 0 || !is_whole(word, option->name)))
			continue;
		if (option->argument == NULL) {
			isc_fail(err, ISC_ERR_INVALID, "%s: --%s takes no value", o->command, option->name);
			isc_hint(err, "write --%s alone", option->name);
		} else {
			isc_fail(err, ISC_ERR_INVALID, "%s: %.*s needs a value", o->command, (int)strcspn(word, "="),
				 word);
			isc_hint(err, "write %s %s", word, option->argument);
		}
		return ISC_ERR_INVALID;
	}
	return fail_unknown(o, word, err);
}

static isc_status show_help(option_run *r, const char *word)
{
	char name[64];

	if (!is_whole(word, "help"))
		return fail_unknown(r->options, word, r->err);
	snprintf(name, sizeof(name), "inferscope %s", r->options->command);
	argp_help(r->argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
	*r->helped = true;
	return ISC_OK;
}

/* From this word on nothing is ours. */
static isc_status give_rest(option_run *r, const isc_option *by, char *first, struct argp_state *state)
{
	int at = state->next - 1;

	/* "-mMODULE" in one word. */
	state->argv[at] = first;
	state->next = state->argc;
	return r->options->rest(r->self, by, state->argv + at, state->argc - at, state->quoted == at, r->err);
}

static isc_status take_argument(option_run *r, char *arg, struct argp_state *state)
{
	const isc_options *o = r->options;

	if (o->rest != NULL)
		return give_rest(r, NULL, arg, state);
	if (o->argument != NULL)
		return o->argument(r->self, arg, r->err);
	isc_fail(r->err, ISC_ERR_INVALID, "%s: unexpected argument %.80s", o->command, arg);
	isc_hint(r->err, "see inferscope %s --help", o->command);
	return ISC_ERR_INVALID;
}

static isc_status take_option(option_run *r, const isc_option *option, char *arg, struct argp_state *state)
{
	const char *word = given_as(state, option, arg);

	if (!is_whole(word, option->name))
		return fail_unknown(r->options, word, r->err);
	if (option->ends)
		return give_rest(r, option, arg, state);
	return r->options->option(r->self, option, arg, r->err);
}

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
	option_run *r = state->input;
	const isc_options *o = r->options;
	const isc_option *option = NULL;

	if (key == ARGP_KEY_ERROR)
		r->failed_at = state->next;
	for (size_t i = 0; i < o->count && option == NULL; i++)
		if (key == (int)(KEY_BASE + i) || (o->table[i].letter && key == o->table[i].letter))
			option = &o->table[i];
	if (key == KEY_HELP)
		r->status = show_help(r, state->argv[state->next - 1]);
	else if (key == ARGP_KEY_ARG)
		r->status = take_argument(r, arg, state);
	else if (option != NULL)
		r->status = take_option(r, option, arg, state);
	else
		return ARGP_ERR_UNKNOWN;
	if (*r->helped)
		return ECANCELED;
	return r->status == ISC_OK ? 0 : EINVAL;
}

static struct argp_option *rows_of(const isc_options *o)
{
	struct argp_option *rows = calloc(o->count + 2, sizeof(*rows));

	if (rows == NULL)
		return NULL;
	for (size_t i = 0; i < o->count; i++) {
		rows[i].name = o->table[i].name;
		rows[i].key = o->table[i].letter ? o->table[i].letter : (int)(KEY_BASE + i);
		rows[i].arg = o->table[i].argument;
		rows[i].doc = o->table[i].help;
		rows[i].flags = o->table[i].help ? 0 : OPTION_HIDDEN;
	}
	rows[o->count] = (struct argp_option){"help", KEY_HELP, NULL, 0, "show this text", -1};
	return rows;
}

isc_status isc_options_parse(const isc_options *o, int argc, char **argv, void *self, bool *helped, isc_error *err)
{
	struct argp_option *rows = rows_of(o);
	struct argp argp = {rows, parse_one, o->arguments, o->about, NULL, NULL, NULL};
	option_run r = {o, self, helped, ISC_OK, err, &argp, 0};
	error_t failed;

	*helped = false;
	if (rows == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to read the options");
	failed = argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_SILENT, NULL, &r);
	free(rows);
	if (*helped || (failed == 0 && r.status == ISC_OK))
		return ISC_OK;
	if (r.status != ISC_OK)
		return r.status;
	if (failed == ENOMEM)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to read the options");
	return fail_word(o, r.failed_at > 0 && r.failed_at <= argc ? argv[r.failed_at - 1] : "?", err);
}

#include "analyze/compare/condition.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"

struct condition_reading {
	const char *text;
	const char *at;
	isc_error *err;
};

static isc_status wrong(const struct condition_reading *r, const char *at, const char *what, const char *hint)
{
	isc_fail(r->err, ISC_ERR_INVALID, "--fail-if: %s at character %zu of \"%.80s\"", what,
		 (size_t)(at - r->text) + 1, r->text);
	isc_hint(r->err, "%s", hint);
	return ISC_ERR_INVALID;
}

static void blanks(struct condition_reading *r)
{
	while (*r->at == ' ' || *r->at == '\t')
		r->at++;
}

static isc_status read_metric(struct condition_reading *r, isc_condition *out)
{
	const char *begin = r->at, *names[128], *nearest;
	char word[64] = "";
	isc_figure m;
	size_t len, n = 0;

	while (isalnum((unsigned char)*r->at) || *r->at == '_')
		r->at++;
	len = (size_t)(r->at - begin);
	if (len == 0)
		return wrong(r, begin, "a metric is missing", "write for example p99_us(request) > +5%");
	if (isc_figure_find(begin, len, &out->metric))
		return ISC_OK;
	for (; n < sizeof(names) / sizeof(names[0]) && isc_figure_at(n, &m); n++)
		names[n] = m.name;
	if (len < sizeof(word))
		memcpy(word, begin, len);
	nearest = isc_suggest(word, names, n);
	if (nearest == NULL)
		return wrong(r, begin, "a metric that is not known", "inferscope diff --metrics lists them");
	isc_fail(r->err, ISC_ERR_INVALID, "--fail-if: a metric that is not known at character %zu of \"%.80s\"",
		 (size_t)(begin - r->text) + 1, r->text);
	isc_hint(r->err, "did you mean %s?", nearest);
	return ISC_ERR_INVALID;
}

/* Names of functions have brackets too: the one that belongs to ours ends it. */
static const char *end_of_subject(const char *at)
{
	size_t depth = 0;

	for (; *at != 0 && (*at != ')' || depth > 0); at++)
		depth += *at == '(' ? 1 : 0, depth -= *at == ')' ? 1 : 0;
	return at;
}

static isc_status read_subject(struct condition_reading *r, isc_condition *out)
{
	const char *open = r->at, *begin, *end;
	bool of_run = out->metric.subject == ISC_SUBJECT_RUN, quoted;

	if (*r->at != '(') {
		if (of_run || out->metric.subject == ISC_SUBJECT_DEVICE)
			return ISC_OK;
		return wrong(r, r->at, "what it is of is missing, in brackets,",
			     out->metric.subject == ISC_SUBJECT_SCOPE
				     ? "write the name of a scope, as in p99_us(request)"
				     : "write a name, as in self_us(tokenize)");
	}
	if (of_run)
		return wrong(r, open, "a name that this metric does not take", "it is of the whole run; leave it out");
	r->at++;
	blanks(r);
	quoted = *r->at == '"';
	begin = quoted ? r->at + 1 : r->at;
	end = quoted ? strchr(begin, '"') : end_of_subject(begin);
	if (end == NULL || *end == 0)
		return wrong(r, open, quoted ? "quotes that do not end" : "a bracket that is not closed",
			     "write for example p99_us(request) > +5%");
	r->at = quoted ? end + 1 : end;
	blanks(r);
	if (*r->at != ')')
		return wrong(r, r->at, "something else than the closing bracket", "write p99_us(\"my scope\") > +5%");
	r->at++;
	while (!quoted && end > begin && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	if (end == begin)
		return wrong(r, begin, "an empty name", "write a name between the brackets");
	if ((size_t)(end - begin) >= sizeof(out->subject))
		return wrong(r, begin, "a name that is too long", "255 bytes is the most");
	memcpy(out->subject, begin, (size_t)(end - begin));
	out->subject[end - begin] = 0;
	return ISC_OK;
}

static isc_status read_compare(struct condition_reading *r, isc_condition *out)
{
	bool more = *r->at == '>', less = *r->at == '<', equal;

	if (!more && !less)
		return wrong(r, r->at, "a comparison is missing", "write >, >=, < or <= and a limit");
	r->at++;
	equal = *r->at == '=';
	r->at += equal;
	out->compare = more ? (equal ? ISC_CONDITION_AT_LEAST : ISC_CONDITION_ABOVE)
			    : (equal ? ISC_CONDITION_AT_MOST : ISC_CONDITION_BELOW);
	return ISC_OK;
}

static isc_status read_unit(struct condition_reading *r, isc_condition *out)
{
	static const struct {
		const char *name;
		double us;
	} times[] = {{"us", 1}, {"ms", 1e3}, {"s", 1e6}};
	const char *begin = r->at;
	size_t len = 0;

	if (*begin == '%') {
		r->at++;
		if (!out->change && out->metric.unit != ISC_UNIT_PERCENT)
			return wrong(r, begin, "percent of what is not said", "write +5% for a change from the base");
		out->relative = out->change && out->metric.unit != ISC_UNIT_PERCENT;
		return ISC_OK;
	}
	while (isalpha((unsigned char)begin[len]))
		len++;
	if (len == 0)
		return ISC_OK;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		if (strlen(times[i].name) != len || memcmp(times[i].name, begin, len) != 0)
			continue;
		if (out->metric.unit != ISC_UNIT_US)
			return wrong(r, begin, "a unit of time for what is no time", "leave the unit out");
		out->limit *= times[i].us;
		r->at += len;
		return ISC_OK;
	}
	return wrong(r, begin, "a unit that is not known", "units are %, us, ms and s");
}

static isc_status read_limit(struct condition_reading *r, isc_condition *out)
{
	const char *begin = r->at;
	double sign = *begin == '-' ? -1 : 1;
	char *end;

	out->change = *begin == '+' || *begin == '-';
	r->at += out->change;
	/* strtod reads more than numbers that people write: hex, inf, nan. */
	if (!isdigit((unsigned char)*r->at) && *r->at != '.')
		return wrong(r, r->at, "a number is missing", "write a limit, as in > +5% or > 200ms");
	if (r->at[0] == '0' && (r->at[1] == 'x' || r->at[1] == 'X'))
		return wrong(r, r->at, "no decimal number", "write a limit, as in > +5% or > 200ms");
	out->limit = sign * strtod(r->at, &end);
	if (end == r->at || !isfinite(out->limit))
		return wrong(r, r->at, "a number that cannot be read", "write a limit, as in > +5% or > 200ms");
	r->at = end;
	blanks(r);
	return read_unit(r, out);
}

isc_status isc_condition_parse(const char *text, isc_condition *out, isc_error *err)
{
	struct condition_reading r = {text, text, err};
	isc_status st;

	*out = (isc_condition){.text = text};
	if (strlen(text) > ISC_CONDITION_MAX) {
		isc_fail(err, ISC_ERR_INVALID, "--fail-if: the text is longer than %u bytes", ISC_CONDITION_MAX);
		isc_hint(err, "write for example p99_us(request) > +5%%");
		return ISC_ERR_INVALID;
	}
	blanks(&r);
	st = read_metric(&r, out);
	blanks(&r);
	if (st == ISC_OK)
		st = read_subject(&r, out);
	blanks(&r);
	if (st == ISC_OK)
		st = read_compare(&r, out);
	blanks(&r);
	if (st == ISC_OK)
		st = read_limit(&r, out);
	blanks(&r);
	if (st == ISC_OK && *r.at != 0)
		st = wrong(&r, r.at, "something behind the limit",
			   "one comparison each; give --fail-if again for more");
	return st;
}

enum isc_condition_result isc_condition_judge(const isc_condition *gate, double base, double fresh, double noise)
{
	double value = gate->change ? fresh - base : fresh, limit = gate->limit;
	bool above = gate->compare == ISC_CONDITION_ABOVE || gate->compare == ISC_CONDITION_AT_LEAST;
	bool equal = gate->compare == ISC_CONDITION_AT_LEAST || gate->compare == ISC_CONDITION_AT_MOST, low, high;

	if (isnan(fresh) || (gate->change && isnan(base)) || isnan(noise))
		return ISC_CONDITION_UNDECIDED;
	if (gate->relative) {
		/* From nothing, anything is beyond every percentage, and nothing is no change. */
		if (base <= 0 && fresh > base)
			return above ? ISC_CONDITION_FIRES : ISC_CONDITION_PASSES;
		limit = base * gate->limit / 100;
	}
	/* Both ends of what it may really be must say the same. */
	low = above ? (equal ? value - noise >= limit : value - noise > limit)
		    : (equal ? value - noise <= limit : value - noise < limit);
	high = above ? (equal ? value + noise >= limit : value + noise > limit)
		     : (equal ? value + noise <= limit : value + noise < limit);
	return low && high ? ISC_CONDITION_FIRES : low || high ? ISC_CONDITION_UNDECIDED : ISC_CONDITION_PASSES;
}

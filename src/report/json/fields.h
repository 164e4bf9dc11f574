/*
 * fields.h - the JSON report as tables: which key stands for which member of isc_analysis, and in which form.
 *
 * A row both writes its field and reads it back, so that a report which was kept, or made elsewhere, reads as one of
 * the trace itself.  Rows stand in the order of the report.  What is no plain member has functions in its row, the
 * two directions next to each other; a row with only a value() is computed and not read.
 *
 * What is read is not trusted: whatever is missing or of another type is as good as not known, and no number is
 * larger than what a double holds to the last digit.
 */
#ifndef ISC_REPORT_JSON_FIELDS_H
#define ISC_REPORT_JSON_FIELDS_H

#include <stddef.h>

#include "analyze/analysis.h"
#include "report/json/json_read.h"
#include "report/json/json_tree.h"

enum isc_field_kind {
	ISC_FIELD_CUSTOM,      /* by the functions of the row alone */
	ISC_FIELD_US,	       /* double: times and shares to the nanosecond; negative is null, and null is -1 */
	ISC_FIELD_US_0,	       /* the same, but null is read as 0 */
	ISC_FIELD_US_POSITIVE, /* the same, and 0 is written as null too */
	ISC_FIELD_REAL,	       /* double: may be negative, to three digits; null is NAN */
	ISC_FIELD_VALUE,       /* double: may be negative, every bit of it; null is NAN */
	ISC_FIELD_WHOLE,       /* double: a count that may be unknown; negative is null, and null is -1 */
	ISC_FIELD_ROUNDED,     /* double: an estimate of a count; null is read as 0 */
	ISC_FIELD_SIGNED,      /* the same, but it may be negative */
	ISC_FIELD_NS,	       /* int64_t: nanoseconds, written as microseconds; null is 0 */
	ISC_FIELD_COUNT,       /* uint64_t or size_t */
	ISC_FIELD_COUNT32,     /* uint32_t */
	ISC_FIELD_ID,	       /* uint32_t: 0 is null */
	ISC_FIELD_CODE,	       /* int: negative is null, and null is -1 */
	ISC_FIELD_SIGNAL,      /* int: 0 is null */
	ISC_FIELD_DEVICE,      /* int64_t: negative is null, and null is -1 */
	ISC_FIELD_FLAG,	       /* bool */
	ISC_FIELD_TEXT,	       /* isc_text or isc_string: empty is null */
	ISC_FIELD_NAME,	       /* the same, and empty is "" */
	ISC_FIELD_WORDS,       /* const char *: NULL is null, or otherwise */
	ISC_FIELD_ENUM,	       /* uint8_t, int or an enum: by names */
	ISC_FIELD_OBJECT,      /* a struct: of */
	ISC_FIELD_LIST,	       /* an array of count_at: of, or each */
	ISC_FIELD_MAP,	       /* an array with a place for every one of names: each */
	ISC_FIELD_END	       /* behind the last row */
};

/* What an array of a MAP or the values of an ENUM are called. */
enum isc_field_names {
	ISC_NAMES_STATES = 1,
	ISC_NAMES_SOURCES,
	ISC_NAMES_UNATTRIBUTED,
	ISC_NAMES_COSTS,
	ISC_NAMES_CLASSES,
	ISC_NAMES_KINDS,
	ISC_NAMES_CLAIMS,
	ISC_NAMES_SUBJECTS,
	ISC_NAMES_FIXES,
	ISC_NAMES_CHANGES
};

/* A member that has to be more than nothing, or a pointer that is there. */
typedef struct isc_field_condition {
	unsigned at; /* 1 + its place; 0: there is no condition */
	enum isc_field_kind kind;
} isc_field_condition;

/* What a row's own function reads: the value under the key, or without a key the object around. */
typedef struct isc_reading {
	isc_analysis *a;
	yyjson_val *value;
	void *into; /* the member; the struct itself when the row names none */
} isc_reading;

typedef struct isc_field {
	const char *key; /* NULL: no object of its own, and its fields are those of the object around */
	enum isc_field_kind kind;
	unsigned at, size;	    /* of the member in its struct; of a list: of an item */
	unsigned count_at;	    /* of a list: the member that counts it */
	unsigned only_at;	    /* of a list: 1 + a bool of items; those without it are not written */
	unsigned known_at;	    /* 1 + a bool of the struct: false is null, and so is null of all its rows false */
	unsigned most;		    /* of a list: more are not written; of a COUNT32: the most that is read; 0: any */
	bool left_out;		    /* not written at all instead of as null */
	const char *otherwise;	    /* of WORDS: instead of NULL */
	const struct isc_field *of; /* the fields of an object, or of those of a list */
	const struct isc_field *each; /* or: what each is, without a key */
	enum isc_field_names names;
	/* Written as null unless these hold: of the struct, both, and of the whole analysis. */
	isc_field_condition if_this, and_this, if_all;
	bool (*when)(const isc_analysis *a);
	/* Instead of the kind; from: the member, or the struct. */
	val *(*value)(struct json *j, const void *from);	      /* what stands behind the key */
	void (*write)(struct json *j, val *object, const void *from); /* adds keys of its own */
	void (*read)(isc_reading in);
} isc_field;

/* A member as a kind; one that is of another type does not compile. */
#define ISC_AT(as, type, member) \
	.kind = ISC_FIELD_##as, .at = ISC_FIELD_IS_##as(((type *)0)->member, offsetof(type, member)), \
	.size = sizeof(((type *)0)->member)
#define ISC_LIST(type, member, count, rows) \
	.kind = ISC_FIELD_LIST, .at = offsetof(type, member), .size = sizeof(*((type *)0)->member), \
	.count_at = ISC_FIELD_IS_COUNT(((type *)0)->count, offsetof(type, count)), .of = (rows)
#define ISC_FLAG_AT(type, member) (1 + ISC_FIELD_IS_FLAG(((type *)0)->member, offsetof(type, member)))
#define ISC_KNOWN(type, member) .known_at = ISC_FLAG_AT(type, member)
#define ISC_CONDITION(type, member) \
	{1 + offsetof(type, member), _Generic(((type *)0)->member, \
		 bool: ISC_FIELD_FLAG, \
		 uint32_t: ISC_FIELD_COUNT32, \
		 double: ISC_FIELD_US, \
		 default: ISC_FIELD_COUNT)}
#define ISC_IF(type, member) .if_this = ISC_CONDITION(type, member)
#define ISC_AND(type, member) .and_this = ISC_CONDITION(type, member)
#define ISC_IF_ALL(member) .if_all = ISC_CONDITION(isc_analysis, member)

#define ISC_FIELD_IS_CUSTOM(x, at) (at)
#define ISC_FIELD_IS_US(x, at) _Generic((x), double: (at))
#define ISC_FIELD_IS_US_0 ISC_FIELD_IS_US
#define ISC_FIELD_IS_US_POSITIVE ISC_FIELD_IS_US
#define ISC_FIELD_IS_REAL ISC_FIELD_IS_US
#define ISC_FIELD_IS_VALUE ISC_FIELD_IS_US
#define ISC_FIELD_IS_WHOLE ISC_FIELD_IS_US
#define ISC_FIELD_IS_ROUNDED ISC_FIELD_IS_US
#define ISC_FIELD_IS_SIGNED ISC_FIELD_IS_US
#define ISC_FIELD_IS_NS(x, at) _Generic((x), int64_t: (at))
#define ISC_FIELD_IS_CODE(x, at) _Generic((x), int: (at))
#define ISC_FIELD_IS_SIGNAL ISC_FIELD_IS_CODE
#define ISC_FIELD_IS_DEVICE ISC_FIELD_IS_NS
#define ISC_FIELD_IS_COUNT(x, at) _Generic((x), uint64_t: (at))
#define ISC_FIELD_IS_COUNT32(x, at) _Generic((x), uint32_t: (at))
#define ISC_FIELD_IS_ID ISC_FIELD_IS_COUNT32
#define ISC_FIELD_IS_FLAG(x, at) _Generic((x), bool: (at))
#define ISC_FIELD_IS_TEXT(x, at) _Generic((x), isc_text: (at), isc_string: (at))
#define ISC_FIELD_IS_NAME ISC_FIELD_IS_TEXT
#define ISC_FIELD_IS_WORDS(x, at) _Generic((x), const char *: (at), char *: (at))
#define ISC_FIELD_IS_ENUM(x, at) _Generic((x), uint8_t: (at), int: (at), unsigned: (at))
#define ISC_FIELD_IS_OBJECT(x, at) (at)
#define ISC_FIELD_IS_MAP(x, at) (at)

/* All rows of a struct, into and from an object of JSON. */
void isc_fields_write(struct json *j, val *object, const isc_field *rows, const void *from);
void isc_fields_read(isc_analysis *a, yyjson_val *object, const isc_field *rows, void *into);

/* One field by its kind, whatever functions its row has. */
val *isc_field_value(struct json *j, const isc_field *field, const void *from);
void isc_field_read(isc_analysis *a, yyjson_val *value, const isc_field *field, void *into);

/* A struct as an object of its own. */
val *isc_fields_object(struct json *j, const isc_field *rows, const void *from);

/* NULL: it has none. */
const char *isc_field_name(enum isc_field_names names, unsigned value);
unsigned isc_field_names_count(enum isc_field_names names);
unsigned isc_field_named(enum isc_field_names names, yyjson_val *name);

#endif

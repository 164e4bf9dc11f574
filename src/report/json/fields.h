/*
 * fields.h - the JSON report as tables: each row binds a key to a member of isc_analysis.
 *
 * A row both writes its field and reads it back, so a report that was kept, or made elsewhere, reads like one made
 * from the trace.  Rows come in the order of the report.  A field that is not simply a member has functions in its
 * row; a row with only a value() is computed and not read back.
 *
 * Reports are not trusted: a value that is missing or has the wrong type counts as unknown, and nothing in a report
 * decides where a value is stored or how much memory is taken beyond the size of its lists.
 */
#ifndef ISC_REPORT_JSON_FIELDS_H
#define ISC_REPORT_JSON_FIELDS_H

#include <stddef.h>

#include "analyze/analysis.h"
#include "report/json/json_read.h"
#include "report/json/json_tree.h"

/* How a member is written, and what null is read as. */
enum isc_field_kind {
	ISC_FIELD_CUSTOM,      /* only the functions of the row know */
	ISC_FIELD_US,	       /* double, to three digits: negative <-> null, read as -1 */
	ISC_FIELD_US_0,	       /* the same, but null is read as 0 */
	ISC_FIELD_US_POSITIVE, /* the same, and 0 is written as null too */
	ISC_FIELD_REAL,	       /* double of either sign, to three digits: null is read as NAN */
	ISC_FIELD_VALUE,       /* the same, with every digit */
	ISC_FIELD_WHOLE,       /* double that counts: negative <-> null, read as -1 */
	ISC_FIELD_ROUNDED,     /* double, an estimated count: null is read as 0 */
	ISC_FIELD_SIGNED,      /* the same, of either sign */
	ISC_FIELD_NS,	       /* int64_t in nanoseconds, written in microseconds: null is read as 0 */
	ISC_FIELD_COUNT,       /* uint64_t or size_t */
	ISC_FIELD_COUNT32,     /* uint32_t */
	ISC_FIELD_ID,	       /* uint32_t: 0 <-> null */
	ISC_FIELD_CODE,	       /* int: negative <-> null, read as -1 */
	ISC_FIELD_SIGNAL,      /* int: 0 <-> null */
	ISC_FIELD_DEVICE,      /* int64_t: negative <-> null, read as -1 */
	ISC_FIELD_FLAG,	       /* bool */
	ISC_FIELD_TEXT,	       /* empty <-> null */
	ISC_FIELD_NAME,	       /* the same, but empty is written as "" */
	ISC_FIELD_WORDS,       /* const char *: NULL <-> null, or `otherwise` both ways */
	ISC_FIELD_ENUM,	       /* uint8_t, int or an enum: one of `names` */
	ISC_FIELD_OBJECT,      /* struct: the rows `of` */
	ISC_FIELD_LIST,	       /* pointer to items: each has the rows `of`, or is a value like `each` */
	ISC_FIELD_MAP,	       /* array: one value like `each` under each of `names` */
	ISC_FIELD_END	       /* ends a table */
};

/* Names of the values of an ENUM, or of the places in a MAP. */
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
	ISC_NAMES_CHANGES,
	ISC_NAMES_PHASES
};

/* Holds when a member is above 0, true, or a pointer other than NULL. */
typedef struct isc_field_condition {
	unsigned at; /* 1 + offset of the member; 0: there is no condition */
	enum isc_field_kind kind;
} isc_field_condition;

/* What the read() of a row is given. */
typedef struct isc_reading {
	isc_analysis *a;
	yyjson_val *value; /* under the key; of a row without one, the object around it */
	void *into;	   /* the member; of a row without one, the struct */
} isc_reading;

typedef struct isc_field {
	const char *key; /* NULL: the row adds its keys to the object around it */
	enum isc_field_kind kind;
	unsigned at;	   /* offset of the member in its struct */
	unsigned size;	   /* of the member; of a LIST, of one item */
	unsigned count_at; /* LIST: offset of the number of items */
	unsigned only_at;  /* LIST: 1 + offset of a bool of each item; only items where it is set are written */
	unsigned known_at; /* 1 + offset of a bool: when false, null is written; set when a value is read */
	unsigned most;	   /* LIST: items written at most; COUNT32: the largest value read; 0: no limit */
	bool left_out;	   /* the key is left out instead of being null */
	const char *otherwise;
	const struct isc_field *of, *each;
	enum isc_field_names names;
	/* Null is written unless these hold: two of the struct, one of the whole analysis, and a function. */
	isc_field_condition if_this, and_this, if_all;
	bool (*when)(const isc_analysis *a);
	/* These replace what the kind does; `from` is the member, or the struct when the row has none. */
	val *(*value)(struct json *j, const void *from);
	void (*write)(struct json *j, val *object, const void *from); /* of rows without a key */
	void (*read)(isc_reading in);
} isc_field;

/* A member written as a kind; a member of a type that does not fit fails to compile. */
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
#define ISC_FIELD_IS_TEXT(x, at) _Generic((x), isc_text: (at))
#define ISC_FIELD_IS_NAME ISC_FIELD_IS_TEXT
#define ISC_FIELD_IS_WORDS(x, at) _Generic((x), const char *: (at), char *: (at))
#define ISC_FIELD_IS_ENUM(x, at) _Generic((x), uint8_t: (at), int: (at), unsigned: (at))
#define ISC_FIELD_IS_OBJECT(x, at) (at)
#define ISC_FIELD_IS_MAP(x, at) (at)

/* All rows of a table, between a struct and an object. */
void isc_fields_write(struct json *j, val *object, const isc_field *rows, const void *from);
void isc_fields_read(isc_analysis *a, yyjson_val *object, const isc_field *rows, void *into);

/* A struct as a new object. */
val *isc_fields_object(struct json *j, const isc_field *rows, const void *from);

/* One field by its kind alone, for the functions of rows. */
val *isc_field_value(struct json *j, const isc_field *field, const void *from);
void isc_field_read(isc_analysis *a, yyjson_val *value, const isc_field *field, void *into);

/* A name that is not one of these is read as the value for "unknown" or "other". */
const char *isc_field_name(enum isc_field_names names, unsigned value);
unsigned isc_field_names_count(enum isc_field_names names);
unsigned isc_field_named(enum isc_field_names names, yyjson_val *name);

#endif

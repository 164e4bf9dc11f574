#include "analyze/code/function_table.h"

#include <string.h>

#include "analyze/build.h"

struct key_head {
	uint64_t process;
	uint32_t line, name_len, file_len;
	uint32_t native;
};

struct identity {
	size_t rank; /* of its process */
	uint32_t line;
	uint8_t kind;
	isc_text name, file, module;
};

void isc_function_table_fini(isc_function_table *t)
{
	isc_names_fini(&t->keys);
	isc_buffer_fini(&t->key);
	isc_hashmap_fini(&t->by_code);
}

static size_t put(isc_build *b, const struct identity *id)
{
	isc_function_table *t = &b->table;
	struct key_head head = {.process = id->rank,
				.line = id->line,
				.name_len = (uint32_t)id->name.len,
				.file_len = (uint32_t)id->file.len,
				.native = id->kind == ISC_FRAME_NATIVE};
	isc_analysis *a = b->a;
	isc_analysis_function *out;
	isc_function_side *side;
	const char *copy;
	size_t n;

	isc_buffer_clear(&t->key);
	isc_buffer_add(&t->key, &head, sizeof(head));
	isc_buffer_add(&t->key, id->name.at, id->name.len);
	isc_buffer_add(&t->key, id->file.at, id->file.len);
	isc_buffer_add(&t->key, id->module.at, id->module.len);
	n = t->key.failed ? SIZE_MAX : isc_names_put(&t->keys, b->arena, t->key.data, t->key.len);
	if (n == SIZE_MAX || n < a->function_count)
		return n;
	out = isc_arena_push(b->arena, &a->functions, &a->function_count, &t->room, sizeof(*out));
	side = isc_arena_push(b->arena, &t->side, &t->side_count, &t->side_room, sizeof(*side));
	if (out == NULL || side == NULL)
		return SIZE_MAX;
	side->rank = id->rank;
	/* The key is a copy: its texts last as long as the analysis. */
	copy = t->keys.text[n].at + sizeof(head);
	*out = (isc_analysis_function){.name = {copy, id->name.len},
				       .file = {copy + id->name.len, id->file.len},
				       .module = {copy + id->name.len + id->file.len, id->module.len},
				       .line = id->line,
				       .native = head.native,
				       .pid = id->rank != SIZE_MAX ? a->processes[id->rank].pid : 0};
	return n;
}

/* The name that was given to a file instead of its own. */
static isc_text called(const isc_build *b, isc_text file)
{
	for (size_t i = 0; b->options != NULL && i < b->options->file_count; i++) {
		const isc_analysis_file *other = &b->options->files[i];

		if (other->file.len == file.len && memcmp(other->file.at, file.at, file.len) == 0)
			return other->name;
	}
	return file;
}

/* A code object by its definition, a C function by its name. */
static void describe(const isc_build *b, uint32_t process, uint32_t code, struct identity *id)
{
	isc_frame frame = {0};

	if (isc_trace_code(b->trace, process, code, &frame)) {
		id->name = frame.name;
		id->file = called(b, frame.file);
		id->line = frame.first_line;
		return;
	}
	id->name = isc_trace_name(b->trace, process, code);
}

/* Those that totals had no room for, of one file or of all. */
static bool describe_rest(isc_build *b, uint32_t process, uint32_t code, struct identity *id)
{
	const char *what = isc_totals_rest_text(ISC_FOLDED_FUNCTIONS), *slash;
	isc_frame frame = {0};

	id->name = (isc_text){what, strlen(what)};
	if (code == ISC_TOTAL_REST || !isc_trace_code(b->trace, process, code & ~ISC_TOTAL_REST, &frame))
		return true;
	id->file = called(b, frame.file);
	slash = id->file.len > 0 ? memrchr(id->file.at, '/', id->file.len) : NULL;
	slash = slash != NULL ? slash + 1 : id->file.at;
	/* The text ends with a parenthesis, which the file goes in before. */
	id->name.at = isc_arena_format(b->arena, "%.*s of %.*s)", (int)strlen(what) - 1, what,
				       (int)(id->file.at + id->file.len - slash), slash);
	id->name.len = id->name.at != NULL ? strlen(id->name.at) : 0;
	return id->name.at != NULL;
}

size_t isc_function_table_code(isc_build *b, uint32_t process, uint32_t code)
{
	uint64_t *known = isc_hashmap_put(&b->table.by_code, isc_hashmap_key(process, code), NULL);
	struct identity id = {.kind = ISC_FRAME_PYTHON};
	size_t n;

	if (known == NULL)
		return SIZE_MAX;
	if (*known != 0)
		return (size_t)*known - 1;
	id.rank = isc_build_process_rank(b, process);
	if ((code & ISC_TOTAL_REST) == 0)
		describe(b, process, code, &id);
	else if (!describe_rest(b, process, code, &id))
		return SIZE_MAX;
	n = put(b, &id);
	if (n != SIZE_MAX)
		*known = n + 1;
	return n;
}

size_t isc_function_table_frame(isc_build *b, uint32_t process, const isc_frame *frame)
{
	struct identity id = {.kind = frame->kind,
			      .line = frame->first_line,
			      .name = frame->name,
			      .file = frame->file,
			      .module = frame->module};

	if (frame->kind == ISC_FRAME_PYTHON)
		return isc_function_table_code(b, process, frame->code);
	id.rank = isc_build_process_rank(b, process);
	return put(b, &id);
}

size_t isc_function_table_named(isc_build *b, size_t rank, const char *name)
{
	return put(b, &(struct identity){.rank = rank, .name = {name, strlen(name)}});
}

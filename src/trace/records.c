#include "trace/records.h"

#include <string.h>

#include "base/varint.h"

static void put_all(isc_buffer *b, const uint64_t *fields, size_t n)
{
	for (size_t i = 0; i < n; i++)
		isc_varint_add(b, fields[i]);
}

static void put_bytes(isc_buffer *b, const void *data, size_t len)
{
	isc_varint_add(b, len);
	isc_buffer_add(b, data, len);
}

static bool get64(isc_byte_range *b, uint64_t *v)
{
	return isc_varint_get(&b->at, b->end, v);
}

static bool get32(isc_byte_range *b, uint32_t *v)
{
	return isc_varint_get32(&b->at, b->end, v);
}

static bool get_bytes(isc_byte_range *b, const void **data, uint32_t *len)
{
	if (!get32(b, len) || *len > (size_t)(b->end - b->at))
		return false;
	*data = b->at;
	b->at += *len;
	return true;
}

void isc_record_put_process(isc_buffer *b, const isc_trace_process *p)
{
	const uint64_t fields[] = {p->process,	    p->parent,
				   p->pid,	    p->ppid,
				   p->flags,	    (uint32_t)p->wait_status,
				   p->start_ns,	    p->end_ns,
				   p->gen,	    p->defs_parent_gen,
				   p->defs_base_id, p->argv_cut};

	put_all(b, fields, sizeof(fields) / sizeof(fields[0]));
	put_bytes(b, p->argv, p->argv_len);
}

bool isc_record_get_process(isc_byte_range *b, isc_trace_process *p)
{
	uint32_t status;
	const void *argv;

	if (!get32(b, &p->process) || !get32(b, &p->parent) || !get32(b, &p->pid) || !get32(b, &p->ppid) ||
	    !get32(b, &p->flags) || !get32(b, &status) || !get64(b, &p->start_ns) || !get64(b, &p->end_ns) ||
	    !get64(b, &p->gen) || !get64(b, &p->defs_parent_gen) || !get64(b, &p->defs_base_id) ||
	    !get32(b, &p->argv_cut) || !get_bytes(b, &argv, &p->argv_len))
		return false;
	p->wait_status = (int32_t)status;
	p->argv = argv;
	return p->process != 0;
}

void isc_record_put_thread(isc_buffer *b, const isc_trace_thread *t)
{
	const uint64_t fields[] = {t->thread, t->process, t->tid, t->flags, t->serial, t->start_ns, t->end_ns};

	put_all(b, fields, sizeof(fields) / sizeof(fields[0]));
	put_bytes(b, t->name, strnlen(t->name, sizeof(t->name)));
	if (t->flags & ISC_THREAD_COUNTED)
		put_all(b, (const uint64_t[]){t->counted_ns, t->on_cpu_ns, t->run_queue_ns}, 3);
}

bool isc_record_get_thread(isc_byte_range *b, isc_trace_thread *t)
{
	const void *name;
	uint32_t len;

	memset(t->name, 0, sizeof(t->name));
	if (!get32(b, &t->thread) || !get32(b, &t->process) || !get32(b, &t->tid) || !get32(b, &t->flags) ||
	    !get64(b, &t->serial) || !get64(b, &t->start_ns) || !get64(b, &t->end_ns) || !get_bytes(b, &name, &len))
		return false;
	memcpy(t->name, name, len < sizeof(t->name) ? len : sizeof(t->name) - 1);
	t->counted_ns = t->on_cpu_ns = t->run_queue_ns = 0;
	if (t->flags & ISC_THREAD_COUNTED &&
	    (!get64(b, &t->counted_ns) || !get64(b, &t->on_cpu_ns) || !get64(b, &t->run_queue_ns)))
		return false;
	return t->thread != 0;
}

void isc_record_put_account(isc_buffer *b, const isc_trace_account *a)
{
	const uint64_t fields[] = {a->process, a->thread, a->stream, a->produced, a->stored, a->lost};

	put_all(b, fields, sizeof(fields) / sizeof(fields[0]));
}

bool isc_record_get_account(isc_byte_range *b, isc_trace_account *a)
{
	uint64_t stream;

	if (!get32(b, &a->process) || !get32(b, &a->thread) || !isc_varint_get_max(&b->at, b->end, 3, &stream) ||
	    !get64(b, &a->produced) || !get64(b, &a->stored) || !get64(b, &a->lost))
		return false;
	a->stream = (uint8_t)stream;
	return true;
}

void isc_record_put_clock(isc_buffer *b, const isc_clock_pair *pair)
{
	isc_varint_add(b, pair->ticks);
	isc_varint_add(b, pair->mono_ns);
}

bool isc_record_get_clock(isc_byte_range *b, isc_clock_pair *pair)
{
	return get64(b, &pair->ticks) && get64(b, &pair->mono_ns);
}

void isc_record_put_define(isc_buffer *b, uint32_t id, uint16_t type, const void *data, uint32_t len)
{
	isc_varint_add(b, id);
	isc_varint_add(b, type);
	put_bytes(b, data, len);
}

bool isc_record_get_define(isc_byte_range *b, uint32_t *id, uint16_t *type, const void **data, uint32_t *len)
{
	uint64_t t;

	if (!get32(b, id) || !isc_varint_get_max(&b->at, b->end, UINT16_MAX, &t) || !get_bytes(b, data, len))
		return false;
	*type = (uint16_t)t;
	return true;
}

void isc_record_put_end(isc_buffer *b, const isc_trace_end *e)
{
	const uint64_t fields[] = {e->end_ns, (uint32_t)e->wait_status, e->known};

	put_all(b, fields, sizeof(fields) / sizeof(fields[0]));
}

bool isc_record_get_end(isc_byte_range *b, isc_trace_end *e)
{
	uint32_t status;

	if (!get64(b, &e->end_ns) || !get32(b, &status) || !get32(b, &e->known))
		return false;
	e->wait_status = (int32_t)status;
	return true;
}

/*
 * salvage.c - what a killed recorder left: its folder still holds what the
 * program wrote after the recorder's last look.  It is read into the trace, and
 * the folder goes.
 *
 * A session may name any trace.  It is written to only beside the trace of this call
 * or in the working folder, where the caller expects us to write; with a trace
 * elsewhere the session stays as it is, and the caller is told where to go.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/path.h"
#include "session/drain/drain.h"
#include "session/follow/follow.h"
#include "session/folder/scratch.h"
#include "session/session.h"
#include "session/drain/sink.h"
#include "session/folder/trace_place.h"
#include "trace/writer.h"

typedef struct salvage {
	char beside[PATH_MAX]; /* the folder of this call's trace, or "" */
	isc_session_visit visit;
	void *self;
	unsigned count;
} salvage;

static isc_status drain_into(const isc_folder *folder, isc_writer *writer, isc_error *err)
{
	isc_drain_options options = {.dir = folder->dir, .takeover = true};
	isc_event_sink sink = {.writer = writer, .clock_source = folder->control->clock_source, .resume = true};
	isc_drain_sink drain_sink = isc_event_sink_drain(&sink);
	isc_drain_cycle cycle;
	isc_drain *drain = NULL;
	isc_status st;

	memcpy(options.session_id, folder->seal.session_id, sizeof(options.session_id));
	isc_event_sink_clock(&sink, isc_clock_read_pair(sink.clock_source));
	st = isc_follow_resume(writer, folder->control, sink.clock_source, (pid_t)folder->control->root_pid,
			       &sink.follow, err);
	if (st == ISC_OK)
		st = isc_drain_new(&options, &drain_sink, &drain, err);
	if (st == ISC_OK) {
		isc_follow_poll(sink.follow, isc_clock_mono_ns());
		st = isc_drain_run(drain, &cycle, err);
	}
	if (st == ISC_OK)
		st = isc_drain_finish(drain, err);
	if (sink.follow != NULL)
		isc_follow_flush(sink.follow);
	if (st == ISC_OK && sink.failed != ISC_OK) {
		st = sink.failed;
		if (err != NULL)
			*err = sink.err;
	}
	isc_drain_free(drain);
	isc_follow_free(sink.follow);
	isc_event_sink_fini(&sink);
	return st;
}

static bool is_here(const salvage *s, int dir)
{
	return isc_trace_place_is(dir, ".") || (s->beside[0] != 0 && isc_trace_place_is(dir, s->beside));
}

/* fd is closed in any case. */
static isc_status resume(const isc_folder *folder, int fd)
{
	isc_writer *writer = NULL;
	isc_error err;
	isc_status st = isc_writer_resume(fd, &writer, &err);

	if (st != ISC_OK) {
		close(fd);
		return st;
	}
	st = drain_into(folder, writer, &err);
	isc_writer_close(writer, NULL, NULL);
	return st;
}

static enum isc_remains_state resume_trace(const salvage *s, const isc_folder *folder, isc_remains *r)
{
	int dir, fd = -1;
	enum isc_trace_place place = isc_trace_place_folder(r->trace, &dir);
	bool here = place == ISC_TRACE_THERE && is_here(s, dir);

	/* What is not to be written to is not opened for it. */
	if (place == ISC_TRACE_THERE) {
		place = isc_trace_place_file(dir, r->trace, folder->seal.session_id, here ? O_RDWR : O_RDONLY, &fd);
		close(dir);
	}
	if (place == ISC_TRACE_GONE) /* moved away or replaced since: the remains have no home */
		return ISC_REMAINS_HOMELESS;
	if (place == ISC_TRACE_UNKNOWN) {
		r->status = ISC_ERR_DENIED;
		return ISC_REMAINS_FAILED;
	}
	if (!here) {
		close(fd);
		return ISC_REMAINS_ELSEWHERE;
	}
	r->status = resume(folder, fd);
	return r->status == ISC_OK ? ISC_REMAINS_SALVAGED : ISC_REMAINS_FAILED;
}

static enum isc_remains_state salvage_one(const salvage *s, const isc_folder *folder, isc_remains *r)
{
	if (folder->control == NULL)
		return ISC_REMAINS_EMPTY;
	snprintf(r->trace, sizeof(r->trace), "%s", folder->control->trace_path);
	if (folder->control->flags & ISC_CONTROL_SCRATCH) {
		/* Who would have read it is gone. */
		isc_scratch_remove(r->trace, folder->seal.session_id);
		return ISC_REMAINS_EMPTY;
	}
	return resume_trace(s, folder, r);
}

static void salvage_dead(salvage *s, isc_remains *r)
{
	isc_folder_left left = {0};
	isc_folder folder;
	isc_error err;

	r->status = isc_folder_adopt(r->folder, &folder, &err);
	if (r->status != ISC_OK) {
		r->state = r->status == ISC_ERR_EXISTS ? ISC_REMAINS_RUNNING : ISC_REMAINS_FAILED;
		return;
	}
	r->state = salvage_one(s, &folder, r);
	if (r->state == ISC_REMAINS_ELSEWHERE || r->state == ISC_REMAINS_FAILED) {
		isc_folder_close(&folder);
		return;
	}
	isc_folder_remove(&folder, false, &left);
	r->left = left.count;
	snprintf(r->left_name, sizeof(r->left_name), "%s", left.name);
	s->count++;
}

static void visit_one(void *self, const char *path, enum isc_folder_state state, const char *why)
{
	salvage *s = self;
	isc_remains r = {.folder = path, .why = why};

	switch (state) {
	case ISC_FOLDER_RUNNING:
		r.state = ISC_REMAINS_RUNNING;
		break;
	case ISC_FOLDER_FOREIGN:
		r.state = ISC_REMAINS_FOREIGN;
		break;
	case ISC_FOLDER_DEAD:
		salvage_dead(s, &r);
		break;
	default:
		return;
	}
	if (s->visit != NULL)
		s->visit(s->self, &r);
}

unsigned isc_session_salvage(const char *trace_path, isc_session_visit visit, void *self)
{
	salvage s = {.visit = visit, .self = self};

	if (trace_path != NULL && !isc_path_folder(trace_path, s.beside, sizeof(s.beside)))
		s.beside[0] = 0;
	isc_folder_each(trace_path, visit_one, &s);
	return s.count;
}

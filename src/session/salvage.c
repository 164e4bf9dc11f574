/*
 * salvage.c - what a killed recorder left: its folder still holds what the
 * program wrote after the recorder's last look.  It is read into the trace, and
 * the folder goes.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/drain.h"
#include "session/follow.h"
#include "session/session.h"
#include "session/sink.h"
#include "trace/format.h"
#include "trace/writer.h"

typedef struct salvage {
	isc_session_visit visit;
	void *self;
	unsigned count;
} salvage;

static isc_status drain_into(const isc_folder *folder, isc_writer *writer, isc_error *err)
{
	isc_drain_options options = {.folder = folder->path, .takeover = true};
	isc_sink sink = {.writer = writer, .clock_source = folder->control->clock_source, .resume = true};
	isc_drain_sink drain_sink = isc_sink_drain(&sink);
	isc_drain_cycle cycle;
	isc_drain *drain = NULL;
	isc_status st;

	isc_sink_clock(&sink, isc_clock_read_pair(sink.clock_source));
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
	isc_sink_fini(&sink);
	return st;
}

/* Looked at before anything is written: the path may name another trace by now,
 * even one that is being recorded. */
static bool is_trace_of(int fd, const isc_control *control)
{
	isc_file_header h;

	return pread(fd, &h, sizeof(h), 0) == (ssize_t)sizeof(h) && isc_trace_is_ours(h.magic, sizeof(h.magic)) &&
	       memcmp(h.session_id, control->session_id, sizeof(h.session_id)) == 0;
}

/* Who would have read it is gone. */
static void remove_scratch(const char *trace, const isc_control *control)
{
	int fd = open(trace, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return;
	if (is_trace_of(fd, control))
		unlink(trace);
	close(fd);
}

static isc_status salvage_one(const char *path, char *trace, size_t room)
{
	isc_folder folder;
	isc_writer *writer = NULL;
	isc_error err;
	isc_status st = isc_folder_adopt(path, &folder, &err);
	int fd;

	trace[0] = 0;
	if (st == ISC_ERR_CORRUPT) { /* never begun, or of another version: nothing to read */
		isc_folder_remove(&folder, false);
		return ISC_OK;
	}
	if (st != ISC_OK)
		return st;
	snprintf(trace, room, "%s", folder.control->trace_path);
	if (folder.control->flags & ISC_CONTROL_SCRATCH) {
		remove_scratch(trace, folder.control);
		trace[0] = 0;
		isc_folder_remove(&folder, false);
		return ISC_OK;
	}
	/* Moved away or replaced since: then the remains have no home. */
	fd = open(trace, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
	if (fd >= 0 && is_trace_of(fd, folder.control) && isc_writer_resume(fd, &writer, &err) == ISC_OK) {
		st = drain_into(&folder, writer, &err);
		isc_writer_close(writer, NULL, NULL);
	} else if (fd >= 0) {
		close(fd);
	}
	isc_folder_remove(&folder, false);
	return st;
}

static void visit_one(void *self, const char *path, bool recorder_alive, bool program_alive)
{
	salvage *s = self;
	char trace[2048] = "";
	isc_status st = ISC_ERR_EXISTS;

	if (recorder_alive)
		return;
	if (!program_alive) {
		st = salvage_one(path, trace, sizeof(trace));
		s->count += st == ISC_OK;
	}
	if (s->visit != NULL)
		s->visit(s->self, path, trace, st);
}

unsigned isc_session_salvage(const char *trace_path, isc_session_visit visit, void *self)
{
	salvage s = {.visit = visit, .self = self};

	isc_folder_each(trace_path, visit_one, &s);
	return s.count;
}

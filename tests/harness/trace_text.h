/*
 * trace_text.h - a trace written as text, so that a test shows the case whole.
 *
 *	meta {"argv": ["serve"], "perf": "ok"}
 *	p1 pid=100 root traced end=9ms status=0 argv "serve" "--port=1"
 *	p2 pid=100 parent=p1 exec argv python x.py
 *	p2 interpreter 3.11.7 /usr/bin/python3	what a Python says of itself
 *	t1 p1 tid=100 main name=main end=9ms
 *	t1 1ms scope_enter request
 *	t1 2ms instant tokens {"n": 3}
 *	t1 2ms counter queue 3.5
 *	t1 3ms scope_exit request
 *	t1 3ms span_enter decode 7 3		its instance, and the one around it
 *	t1 5ms span_exit decode 7 2ms 1		how long it took; 1: entered on another thread
 *	t1 4ms call_enter Layer.run model.py 12	name, file and line of the code
 *	t1 4ms call_resume gen model.py 3 1	1: by throw
 *	t1 5ms call_exit Layer.run model.py 12 2	0 return, 1 yield, 2 exception
 *	t1 5ms c_enter len		and c_exit
 *	t1 5ms governed run model.py 12 1	enum isc_governed; "governed all 1", "governed cost 800"
 *	t1 5ms burst 0 1000 9000 320 50 40 run model.py 12	flags, CPU time, cost, calls, calls of run
 *	t1 5ms sample_rate 1 16000000		enum isc_sample_rate, ns of a step
 *	t1 5ms missed 1
 *	t1 9ms leaving			the interpreter is about to end
 *	t1 5ms task fetch 7			its name, and what tells it from others of that name; 0: no task
 *	t1 5ms wait_enter sleep			by its name in docs/trace-format.md
 *	t1 9ms wait_exit sem 4ms 101 "get queue.py 3 9"	how long, who had it, frames
 *	t1 9ms wait_exit sem 4ms 101 at "run m.py 1 2" "get queue.py 3 9"	and where that one was
 *	t1 9ms wait_brief read 200us 100	how long in all, and how many
 *	t1 9ms gc 2 3ms 1			generation, how long, unseen before it
 *	t1 9ms wait_exit recv 4ms 0 "on=tcp 10.0.0.1:80 10.0.0.2:4000"	and what ended it: trace_channel_words.h
 *	t1 9ms sent "pipe 55" 100		and got: trace_channel_words.h
 *	t1 5ms sample 2 5ms "main m.py 1 9" "run m.py 12 14"	steps and their length, then frames, root
 *					first: name, file, first line and line; "?": of an unknown kind; "native gemm /lib/libmkl.so"
 *	t1 5ms sample 1 5ms faults=900 kernel_us=4000 "run m.py 12 14"	page faults of it, and its time in the kernel
 *	t1 5ms sample 1 5ms cost_us=90 "run m.py 12 14"	what the sample took itself
 *	t1 5ms sample 1 5ms flags=8	without a stack; enum isc_sample_flag
 *	t1 9ms syscalls read 2ms 100		and other records of system calls: trace_syscall_words.h
 *	t1 3ms gpu_call launch clEnqueue 1ms 1.2ms 7	and other records of GPUs: trace_gpu_words.h
 *	t1 3ms memory_alloc malloc 7 40000 0	and other records of memory: trace_memory_words.h
 *	t1 lose 5			five events that never arrived
 *	t1 100us in			switches: in, out, preempt, fault
 *	gap_begin 2ms
 *	repeat 20 100ms			up to "again": trace_repeat.h
 *	end 9ms status=0		signal=9; without a status it is unknown
 *
 * Times count from the start of the session.  Text in quotes may hold blanks and
 * \xNN.  Numbers of events and accounts follow by themselves; names are defined
 * when they are first used.  Without an end line the trace has no end.
 */
#ifndef ISC_HARNESS_TRACE_TEXT_H
#define ISC_HARNESS_TRACE_TEXT_H

#include <stdint.h>

#include "base/status.h"
#include "trace/reader.h"

/* Writes the trace to an empty file that is open for reading and writing; fd is
 * taken over.  ISC_ERR_INVALID names the line that is wrong. */
isc_status trace_text_write(const char *text, int fd, uint64_t limit_bytes, isc_error *err);

/* The same through a temporary file, opened for reading. */
isc_status trace_text_open(const char *text, isc_trace **out, isc_error *err);

#endif

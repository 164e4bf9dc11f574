/*
 * python.h - where the interpreter of this process keeps what a stack is made of.
 *
 * Filled by _core, which is compiled against the headers of its Python; read by
 * the sampler in signal handlers.  Offsets are in bytes.  What a version does not
 * have is ISC_PYTHON_NONE.
 */
#ifndef ISC_RUNTIME_PYTHON_H
#define ISC_RUNTIME_PYTHON_H

#include <stdint.h>

#define ISC_PYTHON_NONE UINT16_MAX

/* How frames hang together. */
enum isc_python_chain {
	ISC_PYTHON_OBJECTS = 1, /* 3.9, 3.10: frame objects from the thread state on */
	ISC_PYTHON_ENTRIES = 2, /* 3.11: activations on the C stack; a frame says when it is their last */
	ISC_PYTHON_SHIMS = 3,	/* 3.12: the same, each ended by a frame of its own on the C stack */
	ISC_PYTHON_CURRENT = 4	/* 3.13: the same frames, without activations */
};

typedef struct isc_python_layout {
	uint32_t size;		     /* of this structure */
	uint32_t version;	     /* 0x030b */
	uint32_t chain;		     /* enum isc_python_chain */
	uint32_t unit;		     /* bytes of what a frame counts its instructions in; 0: it has a pointer to one */
	void *(*thread_state)(void); /* of the calling thread, or NULL; callable in a handler */
	const void *code_type;
	const void *eval;	/* the function that runs frames */
	const void *own;	/* some function of ours around it: its module is not shown */
	uintptr_t runtime_from; /* the interpreter's own state: its lock lies in it */
	uintptr_t runtime_size;

	uint16_t object_type;
	uint16_t object_size;	/* of variable-sized ones */
	uint16_t ts_frame;	/* the newest frame, or the newest activation */
	uint16_t ts_root;	/* the activation that stands for none, inside the thread state */
	uint16_t ts_activation; /* the newest activation, where frames do not lead to it */
	uint16_t ts_native;	/* the thread's tid */
	uint16_t gil_cond;	/* in the global lock: what is waited for, and the thread state */
	uint16_t gil_holder;	/* that has it or had it last */
	uint16_t activation_frame;
	uint16_t activation_previous;

	uint16_t frame_code;
	uint16_t frame_previous;
	uint16_t frame_instruction;
	uint16_t frame_mark;	   /* one byte: is it the last, or what kind of frame is it? */
	uint16_t frame_mark_value; /* then it says this */

	uint16_t code_name;
	uint16_t code_qualified; /* or again the name */
	uint16_t code_file;
	uint16_t code_line;
	uint16_t code_flags;
	uint16_t code_lines; /* table of lines: bytes */
	uint16_t code_start; /* of its instructions */

	uint16_t bytes_data;
	uint16_t str_length;
	uint16_t str_state;
	uint16_t str_ascii;		       /* where the text of a compact string of ASCII begins */
	uint16_t str_compact;		       /* and that of another */
	uint32_t str_is_compact, str_is_ascii; /* bits of the state */
	uint32_t str_kind, str_kind_shift;     /* bytes of a character */
} isc_python_layout;

typedef struct isc_python_frame {
	uintptr_t code;
	uint32_t offset; /* as in isc_def_stack */
	uint32_t spare;
} isc_python_frame;

/* A call of the function that runs frames: it has frames of its own, up to end, and lies
 * on the C stack around its anchor. */
typedef struct isc_python_activation {
	uintptr_t anchor;
	uintptr_t frame; /* the newest of them; 0: not told */
	uint32_t end;	 /* how many frames it and newer ones have */
	uint32_t spare;
} isc_python_activation;

#endif

/*
 * cfi.h - what .eh_frame says about one instruction: where the caller's frame begins.
 *
 * x86_64 only.  The bytes are those of a loaded module, reached through its
 * .eh_frame_hdr; nothing outside of what the module maps is read, whatever they
 * say, but between its segments there may be nothing: call under isc_fault_arm()
 * inside a program.  Nothing is allocated; every loop ends.  Signal-safe.
 */
#ifndef ISC_COLLECT_UNWIND_CFI_H
#define ISC_COLLECT_UNWIND_CFI_H

#include <stdbool.h>
#include <stdint.h>

enum isc_cfi_kind {
	ISC_CFI_NONE = 0, /* no entry covers the instruction */
	ISC_CFI_RULE = 1,
	ISC_CFI_BOTTOM = 2,  /* it was called by nobody */
	ISC_CFI_SIGNAL = 3,  /* the kernel's frame of a signal handler */
	ISC_CFI_UNKNOWN = 4, /* an entry that is damaged, or says more than these rules hold */
	ISC_CFI_RULE_BP = 5  /* a rule, and the caller's rbp lies relative to rbp */
};

/* What the caller's frame address is counted from. */
enum isc_cfi_base {
	ISC_CFI_SP = 7, /* numbers of DWARF */
	ISC_CFI_BP = 6,
	ISC_CFI_R10 = 10,
	ISC_CFI_AT_BP = 0x80, /* it lies in memory, at rbp + cfa: a realigned frame */
	ISC_CFI_PLT = 0x81    /* rsp + 8, and 8 more from this byte of the 16 of a stub on */
};

typedef struct isc_cfi_rule {
	int32_t cfa;
	int16_t bp; /* where the caller's rbp is, from cfa (or rbp); 0: it is what it was */
	uint8_t base;
	uint8_t kind;
} isc_cfi_rule;

typedef struct isc_cfi_image {
	uintptr_t start, end; /* the module in memory */
	uintptr_t header;     /* its .eh_frame_hdr; 0: it has none */
} isc_cfi_image;

/* What an entry covers: a function or a part of one. */
typedef struct isc_cfi_entry {
	uintptr_t first, past; /* instructions from here up to there; both 0: none is known */
	uintptr_t at;	       /* the entry itself */
	uintptr_t row_first,
		row_past; /* instructions around the one that was asked for, with the same rule; both 0 likewise */
} isc_cfi_entry;

/* The rule at ip.  *entry: one of this image that may cover it, which is then not searched for, or zeros; on return
 * the one that does. */
isc_cfi_rule isc_cfi_at(const isc_cfi_image *image, uintptr_t ip, isc_cfi_entry *entry);

/* The code around ip that no entry covers, from the end of the one before to the begin of the next; false: ip is
 * covered, or there is none on one side. */
bool isc_cfi_gap(const isc_cfi_image *image, uintptr_t ip, uintptr_t *first, uintptr_t *past);

#endif

/*
 * trace_channel_words.h - records of channels for trace_text.h:
 *
 *	t1 9ms sent "tcp 127.0.0.1:80 127.0.0.1:4000" 100 [5us [7]]	the channel, bytes, how long the call took, left out before
 *	t1 9ms got "pipe 55" 100	by its inode, as an eventfd too; "unix 55 56": and that of the other end
 *	t1 9ms got "unix @server 4000" 100	an address, and the process at the other end
 *	t1 9ms wait_exit recv 4ms 0 "on=tcp 127.0.0.1:80 127.0.0.1:4000" ["poster=101 5us"] ...	what ended it
 */
#ifndef ISC_HARNESS_TRACE_CHANNEL_WORDS_H
#define ISC_HARNESS_TRACE_CHANNEL_WORDS_H

#include "trace/channel.h"
#include "trace_gpu_words.h"

static inline bool channel_number(const char *text, uint64_t *number)
{
	char *end;
	uint64_t read = text != NULL ? strtoull(text, &end, 10) : 0;

	if (text == NULL || *end != '\0')
		return false;
	*number = read;
	return true;
}

/* 0: not understood. */
static inline uint32_t channel_define(const struct gpu_maker *m, const char *text)
{
	struct {
		isc_def_channel head;
		char text[96];
	} def = {{0}, ""};
	char copy[96], *rest = copy, *part[3];
	uint64_t pid;

	snprintf(copy, sizeof(copy), "%s", text);
	for (int i = 0; i < 3; i++)
		part[i] = rest != NULL ? strsep(&rest, " ") : NULL;
	def.head.kind = gpu_word_of(isc_channel_kind_name, part[0]);
	if (part[1] == NULL || isc_channel_kind_name(def.head.kind) == NULL)
		return 0;
	if (channel_number(part[1], &def.head.inode)) {
		channel_number(part[2], &def.head.peer_inode);
	} else {
		def.head.local_len = (uint16_t)strlen(part[1]);
		if (channel_number(part[2], &pid))
			def.head.peer_pid = (uint32_t)pid;
		else if (part[2] != NULL)
			def.head.peer_len = (uint16_t)strlen(part[2]);
		memcpy(def.text, part[1], def.head.local_len);
		memcpy(def.text + def.head.local_len, part[2] != NULL ? part[2] : "", def.head.peer_len);
	}
	return m->define(m->self, m->process, ISC_DEF_CHANNEL, &def,
			 sizeof(def.head) + def.head.local_len + def.head.peer_len);
}

/* Its slots; 0: not understood. */
static inline uint32_t channel_words(const struct gpu_maker *m, const struct word *word, size_t words, isc_record *slot)
{
	isc_left_out left_out = {words > 6 ? strtoull(word[6].at, NULL, 10) : 0, 0};

	if (words < 5)
		return 0;
	slot->id = channel_define(m, word[3].at);
	slot->arg = isc_moved(strtoull(word[4].at, NULL, 10), words > 5 ? gpu_time(word[5].at) : 0);
	memcpy(&slot[1], &left_out, sizeof(left_out));
	return slot->id == 0 ? 0 : left_out.calls != 0 ? 2 : 1;
}

/* A word that says what ended a wait; false: it says something else. */
static inline bool waker_word(const struct gpu_maker *m, const struct word *word, isc_waker *waker)
{
	const char *on = gpu_value(word, "on"), *poster = gpu_value(word, "poster"), *before;

	if (on != NULL)
		waker->channel = channel_define(m, on);
	if (poster != NULL) {
		waker->poster = (uint32_t)strtoul(poster, NULL, 10);
		before = strchr(poster, ' ');
		waker->posted_ticks = before != NULL ? gpu_time(before + 1) : 0;
	}
	return on != NULL || poster != NULL;
}

#endif

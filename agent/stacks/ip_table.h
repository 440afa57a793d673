/* The addresses that a session has met, each with the function that it belongs to once that is known. Bounded: when it is
 * full it is emptied, and what is met again is asked for again. One thread. */
#ifndef DRDOTNET_IP_TABLE_H
#define DRDOTNET_IP_TABLE_H

#include "common/base/index_set.h"
#include "common/proto/code_frame.h"

#include <stdbool.h>
#include <stdint.h>

#define IP_TABLE_MAX (1u << 18)

/* Stands for "somewhere in the kernel" where its addresses are hidden from us. */
#define IP_KERNEL UINT64_MAX

enum ip_state {
	IP_NEW,     /* not asked for yet */
	IP_NAMED,
	IP_UNNAMED, /* the runtime might know it later */
	IP_FOREIGN, /* kernel or native: final */
};

enum ip_code {
	IP_CODE_NEW,   /* not looked at yet */
	IP_CODE_KNOWN, /* leaf and call say how its caller is found */
	IP_CODE_STUB,  /* code that the runtime made and has no name for: it keeps no frame of its own */
};

struct ip_entry {
	uint64_t ip;
	uint32_t frame;           /* in the capture */
	uint32_t batch;           /* the last batch that it was used in */
	enum ip_state state;
	bool dynamic;             /* asked for again in each batch: its memory may serve another method by then */
	int64_t dynamic_start_ns; /* samples before this are not of this method */
	enum ip_code code;
	bool wanted;              /* is in a question that is being put together */
	bool guessed;             /* nothing tells how its caller is found: by a frame pointer, which it may not keep */
	bool searched;            /* its frame is what its code does until it returns; right if what it then returns to is behind a call */
	bool after_call;          /* what ends at `ip` is a call: the byte behind may be returned to */
	struct code_frame leaf;   /* of a thread that is about to run the instruction at `ip` */
	struct code_frame call;   /* of one that returns to the byte behind `ip` */
};

struct ip_table { /* zeroed: empty */
	struct ip_entry *items;
	size_t count, cap;
	struct index_set set;
};

void ip_table_fini(struct ip_table *t);
void ip_table_clear(struct ip_table *t);

/* Number of the address; marks it as used in `batch`. INDEX_NONE when full. */
uint32_t ip_table_intern(struct ip_table *t, uint64_t ip, uint32_t batch);

static inline bool ip_is_kernel(uint64_t ip)
{
	return ip >> 63;
}

#endif

/* Where the stacks of a process's threads end: behind the mapping that holds a stack lies memory of somebody else, often of another thread, and what is found
 * there says nothing of this one. Plain data; one thread. */
#ifndef DRDOTNET_STACK_ENDS_H
#define DRDOTNET_STACK_ENDS_H

#include <stddef.h>
#include <stdint.h>

struct stack_range {
	uint64_t start, end;
};

struct stack_ends {
	struct stack_range *ranges; /* of memory that can be written, by address */
	size_t count, cap;
};

/* Of an open /proc/PID. None where it cannot be read. */
void stack_ends_load(int proc_fd, struct stack_ends *out);
void stack_ends_fini(struct stack_ends *s); /* takes zeroed structs */

/* So many bytes from `sp` on belong to its stack, at most `most`; `most` where that is not known. Pure. */
size_t stack_ends_bytes(const struct stack_ends *s, uint64_t sp, size_t most);

#endif

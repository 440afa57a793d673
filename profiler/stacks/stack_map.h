/* Where thread stacks may lie: the process's writable anonymous mappings, so that a signal handler knows how far up it may read
 * from its stack pointer. Two tables: handlers read one while the library's thread fills the other. */
#ifndef DRDOTNET_STACK_MAP_H
#define DRDOTNET_STACK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STACK_MAP_MAX 8192

struct stack_range {
	uintptr_t low, high;
};

/* Own thread. Reads /proc/self/maps anew; true when it could. */
bool stack_map_refresh(void);
/* Own thread. The mapping that holds `sp`; false when it is not known. */
bool stack_map_find(uintptr_t sp, struct stack_range *out);
/* Signal handler. The end of the mapping that holds `sp`, 0 when it is not known. */
uintptr_t stack_map_end(uintptr_t sp);

/* Pure: one line of /proc/PID/maps ("low-high perms ... inode [name]"); true when a stack may lie there. */
bool stack_map_parse_line(const char *line, size_t len, struct stack_range *out);

#endif

/* The kernel's functions, from /proc/kallsyms: readable with addresses only where kernel.kptr_restrict and the reader's
 * capabilities allow it. One thread; some 3 MB while loaded. */
#ifndef DRDOTNET_KERNEL_SYMBOLS_H
#define DRDOTNET_KERNEL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_symbols;

/* True when the addresses are shown to us (one line is read). */
bool kernel_symbols_allowed(const char *proc_root);

/* NULL when they are not. Takes some 0.1 s of CPU. */
struct kernel_symbols *kernel_symbols_load(const char *proc_root);
void kernel_symbols_free(struct kernel_symbols *k);

/* Takes one line "ffffffff81000000 T name [module]" in. Pure; for the loader and tests. False: malformed or not a function. */
struct kernel_symbols *kernel_symbols_new(void);
bool kernel_symbols_add_line(struct kernel_symbols *k, const char *line, size_t len);
void kernel_symbols_sort(struct kernel_symbols *k);

/* Borrowed; NULL: unknown. */
const char *kernel_symbols_find(const struct kernel_symbols *k, uint64_t ip);

#endif

/* Gives the addresses of a batch their functions: kernel symbols, the runtime's names for what may be managed, ELF symbols
 * for the rest. One thread. */
#ifndef DRDOTNET_FRAME_NAMER_H
#define DRDOTNET_FRAME_NAMER_H

#include "agent/stacks/capture.h"
#include "agent/stacks/ip_table.h"

#include <stdbool.h>
#include <stdint.h>

struct frame_namer;
struct resolved_function;

/* The names of managed code: the channel, or another in tests. out[i] NULL: none. -1: no names available now. */
typedef int frame_resolve_fn(void *ctx, const uint64_t *ips, size_t count, const struct resolved_function **out);

/* Which IL the instructions were made from (common/proto/channel_code.h: CHANNEL_NO_IL); pointers of one method stand together. -1: not to be had now. */
typedef int frame_il_fn(void *ctx, const uint64_t *ips, size_t count, uint32_t *out);

/* `proc_fd`: /proc/PID, borrowed; -1: none, then every address is taken to the runtime. */
struct frame_namer *frame_namer_new(struct capture_builder *b, int proc_fd);
void frame_namer_free(struct frame_namer *n);

/* The mappings of a process that may have ended: the text of /proc/PID/maps, its executable, its root (duplicated; -1: not to be had). */
void frame_namer_tell_maps(struct frame_namer *n, const char *text, size_t len, const char *main_path, int root_fd);

/* From here on managed frames have the file and line of their place, where the module's symbols are there. */
void frame_namer_tell_lines(struct frame_namer *n, frame_il_fn *ask, void *ctx);
/* Which symbols were there; added to *out. */
void frame_namer_account(const struct frame_namer *n, struct source_account *out);

/* Sets frame and state of the batch's entries that have no final answer. */
void frame_namer_name(struct frame_namer *n, struct ip_table *ips, uint32_t batch, frame_resolve_fn *resolve, void *ctx);

/* Whose code lies at an address. Reads the mappings again where it lies in none. */
enum code_place {
	CODE_PLACE_NOWHERE, /* there is no code */
	CODE_PLACE_NATIVE, /* a library's; or not known */
	CODE_PLACE_JIT,    /* the runtime made it: a method, or a stub */
	CODE_PLACE_EITHER, /* an assembly, the executable: a method, or native */
};
enum code_place frame_namer_place(struct frame_namer *n, uint64_t ip);

/* The process may have mapped code since: for the next address that lies in no mapping they are read again. */
void frame_namer_age_maps(struct frame_namer *n);

/* Where the first byte of the ELF file is mapped that holds the address, and the file's number among the mapped ones; 0: in none. What has been
 * asked for its place is found. */
uint64_t frame_namer_image(const struct frame_namer *n, uint64_t ip, uint32_t *file);

/* The frame of a function that the runtime has named; its texts are borrowed. */
struct frame frame_namer_managed(const struct resolved_function *r);

/* The frame for code without a name. */
uint32_t frame_namer_unknown(struct frame_namer *n);

/* May a thread's first function be here (the C library, the loader, the executable)? True, too, when there are no mappings to
 * tell by. */
bool frame_namer_is_thread_start(const struct frame_namer *n, uint64_t ip);

#endif

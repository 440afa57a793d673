/* Puts libdrdotnet.so and the channel's socket where the target can load and reach them, and takes them away again.
 *
 * A session's folder ".drdotnet-<16 random hex>" is made in the target's temporary folder (mode 0711, agent's uid) with the
 * library "libdrdotnet-<16 hex of its sha256>.so" (0644 -> readable by the target's uid) and the channel's socket "c" (0666 inside 0711).
 * All by descriptors: openat2 RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, O_EXCL, O_NOFOLLOW. */
#ifndef DRDOTNET_STAGE_H
#define DRDOTNET_STAGE_H

#include "agent/target/target.h"
#include "common/base/err.h"

struct stage {
	int tmp_fd;           /* the target's temporary folder */
	int dir_fd;           /* our folder in it */
	char dir_name[32];
	char *dir_inner;      /* our folder as the process sees it */
	char *library_inner;  /* the library as the process sees it */
	char library_name[40];
	bool has_library;
	uint64_t mapped_bytes; /* of the library's file, in a process that has loaded it */
	bool is_named;        /* once loaded, it is found again by `library_name` alone (agent/attach/named_library.h) */
};

/* Makes the session's folder, after removing what killed sessions left in this process's temporary folder. */
int stage_prepare(const struct target *t, const char *library_path, struct stage *s, struct err *e);
/* The same in the target's temporary folder as it was opened before; the descriptor is taken over. */
int stage_prepare_in_take(const struct target *t, int tmp_fd, const char *library_path, struct stage *s, struct err *e);
/* Removes our files (never anything else); idempotent; takes zeroed structs with dir_fd = tmp_fd = -1. -1: our folder stays behind
 * (ERR_DENIED), for a later stage_sweep(). */
int stage_remove(struct stage *s, struct err *e);

/* What the names of this process's session folders begin with, for several processes may share a temporary folder: 8 hexadecimal digits of
 * the name of its diagnostics socket, which is no other process's. */
#define STAGE_FOLDER_PREFIX ".drdotnet-"
#define STAGE_MARK_DIGITS 8
int stage_mark(const struct target *t, char out[STAGE_MARK_DIGITS + 1], struct err *e);

#endif

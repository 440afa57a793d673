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
};

/* Preflight of everything that can be known without touching the process: alive and not stopped/traced, runtime version and
 * architecture, NativeAOT, diagnostics switched off, staging place writable and not noexec, path lengths, memory head-room
 * under the cgroup's limit. -1 with the reason in e->reason. Reads only. */
int preflight_check(const struct target *t, struct err *e);

/* Makes the session's folder, after removing what killed sessions left in this process's temporary folder. */
int stage_prepare(const struct target *t, const char *library_path, struct stage *s, struct err *e);
/* The same in the target's temporary folder as it was opened before; the descriptor is taken over. */
int stage_prepare_in_take(const struct target *t, int tmp_fd, const char *library_path, struct stage *s, struct err *e);
/* Removes our files (never anything else); idempotent; takes zeroed structs with dir_fd = tmp_fd = -1. -1: our folder stays behind
 * (ERR_DENIED), for a later stage_sweep(). */
int stage_remove(struct stage *s, struct err *e);

/* True while a file whose base name is `library_name` is mapped in the process (host PID mode only). */
bool stage_library_mapped(const struct target *t, const char *library_name);

/* True while a session of ours, of another agent or of the local command, is under way in the process: a library is mapped and holds its own
 * file (host PID mode only; profiler/base/own_file.c). One that is mapped and holds nothing has come and gone: musl unmaps none. */
bool stage_library_serves(const struct target *t);

/* What the names of this process's session folders begin with, for several processes may share a temporary folder: 8 hexadecimal digits of
 * the name of its diagnostics socket, which is no other process's. */
#define STAGE_FOLDER_PREFIX ".drdotnet-"
#define STAGE_MARK_DIGITS 8
int stage_mark(const struct target *t, char out[STAGE_MARK_DIGITS + 1], struct err *e);

/* The file of a library of another session that is still in the process and holds it locked (profiler/base/own_file.c), in the target's
 * temporary folder; -1: none is known. stage_library_gone() says of it whether the library has left meanwhile. */
int stage_find_library(const struct target *t, int tmp_fd);
bool stage_library_gone(int library_fd);

/* Removes session folders that a killed agent left behind in this target's temporary folder: older than `older_than_s`,
 * without a library that is still there. Returns how many; *kept (may be NULL) counts on for each that no session uses and that cannot be removed yet. */
int stage_sweep(const struct target *t, int64_t older_than_s, int *kept);

#endif

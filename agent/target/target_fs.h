/* The way into what a target owns: its /proc folder and its temporary folder, by descriptors. Everything inside is the
 * pod's word: paths are resolved inside the pod's own root (openat2 RESOLVE_IN_ROOT, its symbolic links lead nowhere
 * else), below our own folders without any link. Any thread; no state. */
#ifndef DRDOTNET_TARGET_FS_H
#define DRDOTNET_TARGET_FS_H

#include "agent/target/target.h"
#include "common/base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* openat2(2); kernel 5.6. -1 with errno. */
int target_fs_openat2(int dirfd, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve);

/* A path of the pod inside `root_fd`: links are followed as the pod sees them, magic links are not. */
int target_fs_open_in_root(int root_fd, const char *inner_path, uint64_t flags);

/* The same for reading a regular file; -1 for anything else, which is not opened at all: opening a device may do what it does. */
int target_fs_open_regular(int root_fd, const char *inner_path);

/* One name directly in the folder `dirfd`: no link, no separator. */
int target_fs_open_beneath(int dirfd, const char *name, uint64_t flags, uint64_t mode);

/* The target's folder in /proc, checked to be still the same process. ERR_GONE (ProcessExited) when it is not;
 * ERR_INVALID in shared tmp mode, which has none. */
int target_open_proc(const struct target *t, struct err *e);

/* The target's temporary folder (O_RDONLY | O_DIRECTORY). ERR_GONE as above, NoStagingPlace when it has none. */
int target_open_tmp(const struct target *t, struct err *e);

/* "/proc/self/fd/N" for passing an object by descriptor where only a path is taken. */
#define TARGET_FD_PATH_SIZE 32
const char *target_fd_path(int fd, char out[TARGET_FD_PATH_SIZE]);

#endif

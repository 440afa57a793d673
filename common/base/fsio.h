/* Small bounded file helpers. Any thread. */
#ifndef DRDOTNET_FSIO_H
#define DRDOTNET_FSIO_H

#include "common/base/buf.h"
#include "common/base/err.h"

#include <dirent.h>
#include <sys/types.h>

/* Reads a whole file (or /proc file) relative to dirfd (AT_FDCWD for none), at most max_bytes; a longer one is an
 * ERR_INVALID. *out is initialised here; the caller finishes it, also after a failure. */
int fsio_read(int dirfd, const char *path, size_t max_bytes, struct buf *out, struct err *e);

/* The same for small files on the caller's memory: at most size - 1 bytes are read, the rest is ignored, NUL added,
 * trailing newline removed. Returns the length or -1 (errno says why; no message, for hot /proc paths). */
ssize_t fsio_read_small(int dirfd, const char *path, char *out, size_t size);

/* Writes a file so that readers see the old content or the new: temporary name beside it, fsync, rename. */
int fsio_write_atomic(const char *path, const void *data, size_t len, mode_t mode, struct err *e);

/* The entries of an open folder. Takes the descriptor in any case; NULL (with errno) when it is none or there is no memory. */
DIR *fsio_opendir_take(int fd);

int fsio_mkdir_p(const char *path, mode_t mode, struct err *e);

/* Writes everything, restarting after EINTR and short writes. 0 or -1 with errno. */
int fsio_write_all(int fd, const void *data, size_t len);

#endif

/* Files below the report store's folder: everything relative to one descriptor, no symlink followed, nothing above it reached.
 * Sizes are in bytes. Used by report_store.c only, under its rules of locking. */
#ifndef DRDOTNET_REPORT_FILES_H
#define DRDOTNET_REPORT_FILES_H

#include <stddef.h>
#include <stdint.h>

/* openat2 with RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS. -1 with errno. */
int report_files_open(int dir_fd, const char *path, int flags);

/* A new file ".upload-XXXX" in the root. Returns the descriptor; the name goes into `name`. */
int report_files_create_temporary(int dir_fd, char *name, size_t size);

/* Makes the key's folders and renames the temporary file to it. 0 or -1 with errno. */
int report_files_place(int dir_fd, const char *temp_name, const char *key);

int64_t report_files_size_of(int dir_fd, const char *path); /* 0 when absent */
int64_t report_files_size(int dir_fd);                      /* of all objects below */
void report_files_remove_temporary(int dir_fd);             /* torn uploads of an earlier run */

/* Each removes and returns the bytes that went. Emptied folders go too. */
int64_t report_files_remove_tree(int dir_fd, const char *path);
int64_t report_files_remove_older(int dir_fd, int64_t mtime_seconds, int *removed);

/* Removes session folders (second level) until `need` bytes have gone, or there are no more: of the namespace (first level) that has most, the one with the
 * oldest change. `coming` bytes count as those of the key's namespace; the key's own session stays. */
int64_t report_files_make_room(int dir_fd, const char *key, int64_t coming, int64_t need);

#endif

/* Whether a process has a SQLite database locked, so that none of its other connections may write to it: by the kernel's account of the locks that it holds
 * on its files (/proc/PID/fdinfo, which locks out nobody; /proc/locks would). */
#ifndef DRDOTNET_FILE_LOCKS_H
#define DRDOTNET_FILE_LOCKS_H

#include <stdbool.h>
#include <stddef.h>

/* One line: true where it is a lock of what a transaction of SQLite that writes has: the RESERVED or PENDING byte of the database's file, or, of one with a
 * write-ahead log, the first byte of the locks in its "-shm" file. Pure. Source: the kernel's Documentation/filesystems/proc.rst (3.8), SQLite's os.h
 * (PENDING_BYTE) and os_unix.c (UNIX_SHM_BASE). */
bool file_locks_parse_line(const char *line, size_t len);

/* Now, in its first descriptors; proc_fd: /proc/PID. false: none is, or it cannot be seen. */
bool file_locks_database(int proc_fd);

#endif

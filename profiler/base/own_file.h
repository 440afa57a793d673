/* The library's own file, locked (flock, shared) for as long as it is in a process. When its agent was killed, the next one learns from the lock
 * that a library still has to leave, and when it has: also where it sees nothing of the process but its folder for temporary files.
 * Context: CLR callback of the attach (lock), of the detach or own thread (unlock). */
#ifndef DRDOTNET_OWN_FILE_H
#define DRDOTNET_OWN_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* The one that this session has staged, beside the channel's socket: what musl keeps mapped was loaded from another one, which is gone. Where the
 * file is gone or cannot be locked, nobody learns anything. */
void own_file_lock(const char *socket_path, size_t len);
void own_file_unlock(void);
/* Own thread, or CLR callback of the detach: the runtime's unloading leaves the library mapped from here on, for good. false: that cannot be
 * had. */
bool own_file_keep(void);

#endif

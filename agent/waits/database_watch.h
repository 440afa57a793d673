/* Looks at whether the process has a SQLite database locked while a session runs (file_locks.h). Such a lock has no owner among the threads, and its waiters
 * only try again; each look that finds one is kept among those at other locks. One thread. */
#ifndef DRDOTNET_DATABASE_WATCH_H
#define DRDOTNET_DATABASE_WATCH_H

#include "agent/waits/lock_watch.h"

struct database_watch { /* zeroed: it does not look */
	struct lock_watch *locks; /* borrowed: its sightings are these, too */
	int proc_fd;
	int64_t next_ns;
};

/* Looks if it is time for it. */
void database_watch_look(struct database_watch *w, int64_t now_ns);

#endif

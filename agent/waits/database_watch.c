#include "agent/waits/database_watch.h"

#include "agent/host/file_locks.h"

#include <time.h>

#define EACH_NS 90000000 /* less than the time after which its client tries again, and than that between the looks at other locks */
#define REST 200         /* times the CPU time that a look takes */

static int64_t look_cpu_ns(void)
{
	struct timespec t = {0};
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void database_watch_look(struct database_watch *w, int64_t now_ns)
{
	if (!w->locks || now_ns < w->next_ns)
		return;
	int64_t began_ns = look_cpu_ns();
	if (file_locks_database(w->proc_fd))
		lock_watch_sighted(w->locks, &(struct lock_sighting){.at_ns = now_ns, .kind = LOCK_KIND_DATABASE});
	int64_t rest_ns = (look_cpu_ns() - began_ns) * REST;
	w->next_ns = now_ns + (rest_ns > EACH_NS ? rest_ns : EACH_NS);
}

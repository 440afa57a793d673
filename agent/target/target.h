/* One .NET process that the agent can see, and the two ways of finding them (DESIGN.md 5):
 * host PID mode: /proc of all processes (zero preparation); shared tmp mode: a parent folder with one folder per pod.
 * A `struct target` is a plain value: strings are owned, no descriptor is held. It names its process by (pid,
 * start_time), so that a reused pid is noticed. */
#ifndef DRDOTNET_TARGET_H
#define DRDOTNET_TARGET_H

#include "agent/host/cgroup.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum agent_mode {
	AGENT_MODE_HOST_PID,
	AGENT_MODE_SHARED_TMP,
};

struct target {
	enum agent_mode mode;
	pid_t pid;                   /* as the agent sees it; 0 in shared tmp mode (no common pid namespace) */
	uint64_t start_time;         /* field 22 of /proc/PID/stat (clock ticks); 0 in shared tmp mode */
	pid_t inner_pid;             /* in the process's own pid namespace */
	uid_t uid;                   /* effective uid, as the agent's user namespace sees it; (uid_t)-1: unknown */
	gid_t gid;
	char *pod_uid;               /* from the cgroup, with dashes; NULL: not in a pod */
	char *container_id;          /* hex; NULL: not in a container, or not known (shared tmp mode: the order tells) */
	char *proc_dir;              /* host PID mode: "/proc/PID"; NULL stands for the same */
	char *container_name;        /* its name in the pod, where known: in shared tmp mode by a folder per container; else NULL */
	char *shared_folder;         /* shared tmp mode: the pod's folder's name under the parent; else NULL */
	char *socket_path;           /* diagnostics socket as the process sees it: /tmp/dotnet-diagnostic-1-...-socket */
	char *tmp_inner;             /* the folder of the socket, as the process sees it */
	char *tmp_outer;             /* the same as the agent reaches it: /proc/PID/root/tmp, or PARENT/FOLDER[/...] */
	char *entrypoint;            /* "Checkout" (managed entry assembly's name); NULL: unknown yet */
	char *command_line;          /* printable, cut at 256 bytes; may hold secrets: shown only by `drdotnet ps`, never uploaded */
	char *runtime_version;       /* "10.0.12", "10.0.12+<commit>" cut at '+'; NULL: did not answer */
	char *arch;                  /* "x64", "arm64" as the runtime says */
	char *os;                    /* "linux" */
	char *rid;                   /* "linux-x64", "linux-musl-x64"; NULL before .NET 8 */
	bool held;                   /* it has just begun: a runtime that has yet to be resumed at its start is no hindrance */
	bool profilable;
	const char *reason;          /* when not: common/api/reason.h */
	char *message;
};

void target_fini(struct target *t);
void target_copy(struct target *out, const struct target *from);

struct target_list {
	struct target *items;
	size_t count, cap;
	pid_t next_pid; /* of an unfiltered discovery that could not look at all: where the next one may go on; 0: it was whole */
	size_t hidden;  /* .NET processes of other users, that this one may not inspect; of an unfiltered discovery */
	int64_t opened_late_s; /* shared tmp mode: since the epoch, when a folder that was looked at could first be written; 0: in time for all */
};
void target_list_fini(struct target_list *l);

/* What discovery may look at, and for whom. */
struct discover_options {
	enum agent_mode mode;
	const char *proc_root;       /* "/proc" (tests give another) */
	const char *shared_parent;   /* shared tmp mode: the parent folder */
	/* filters; zero values mean "all" */
	const char *pod_uid;
	const char *pod_namespace, *pod_name; /* shared tmp mode: the folder's name is "<namespace>_<name>" */
	const char *const *container_ids;     /* any of these; NULL: all */
	size_t container_id_count;
	const char *const *container_names;   /* shared tmp mode with a folder per container: any of these; NULL: all */
	size_t container_name_count;
	pid_t pid;                   /* the agent's view */
	pid_t from_pid;              /* without filters: goes on from this process */
	bool held;                   /* those found are: see struct target */
	bool query_runtime;          /* ask each for ProcessInfo over its socket (fills runtime_version, entrypoint, profilable) */
	int64_t answer_ms;           /* how long a runtime may take for that; 0: 2 s. One that starves needs more, and it is the ill ones that starve */
	int64_t deadline_ms;         /* monotonic; bounds everything, hostile sockets included */
};

/* Finds the .NET processes that pass the filters, oldest first. A process that is .NET but cannot be profiled is in the
 * list with its reason. 0 also when none was found. Any thread; no state. */
int discover_targets(const struct discover_options *o, struct target_list *out, struct err *e);

/* Appends (the list takes over what *t owns). */
void target_list_add_take(struct target_list *l, struct target *t);

/* Chooses the one process that the session means: container (by id), inner pid, entrypoint; the only one left wins.
 * ERR_NOT_FOUND (NoDotnetProcess, ProcessNotFound) or ERR_INVALID (AmbiguousProcess: the message lists them); a single
 * match that is not profilable gives its own reason. Pure. Returns the index or -1. */
ssize_t target_choose(const struct target_list *l, const char *container_id, const char *entrypoint, int64_t inner_pid, struct err *e);

/* What a profiler can do without, as bits. */
enum target_without {
	TARGET_WITHOUT_LIBRARY = 1, /* which cannot be attached */
	TARGET_WITHOUT_RUNTIME = 2, /* the application is compiled ahead of time: there is none that could be asked or attached to */
};

/* Whether a process that is refused for that reason can be looked at from outside all the same, by one that can do without so much. */
bool target_only_unattachable(const struct target *t, const char *reason, unsigned without);

/* For such a one: those that are refused for that reason count as profilable, if it is such a one, and keep it. True: there are some. */
bool target_list_admit(struct target_list *l, const char *reason, unsigned without);

/* Whose control group has its figures; borrows from *t. */
struct cgroup_owner target_cgroup(const struct target *t);

/* Still the same process? false when it ended or the pid was reused. */
bool target_alive(const struct target *t);

/* Is its C library musl (Alpine), as its runtime says? It never unmaps a library. */
bool target_has_musl(const struct target *t);

/* Can it not run now: stopped by a signal or a tracer, or its control group frozen? in shared tmp mode only the latter can be seen. */
bool target_stopped(const struct target *t);

#endif

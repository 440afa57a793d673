/* What is sampled of a container from its first instruction on, before its session is ordered: perf events on its control group, and what is seen of
 * the first .NET process in it. The stacks' copies are secret (agent/perf/secret_memory.h). One thread at a time owns it; nothing here waits for the
 * pod's files. */
#ifndef DRDOTNET_START_CAPTURE_H
#define DRDOTNET_START_CAPTURE_H

#include "agent/host/cgroup.h"
#include "agent/host/cgroup_dir.h"
#include "agent/perf/perf_pump.h"
#include "agent/target/apart.h"
#include "agent/target/target.h"
#include "common/base/buf.h"

/* A new container of a pod. */
struct start_container {
	char pod_uid[40], container_id[80];
	struct cgroup_dir dir;
	int64_t appeared_ns; /* CLOCK_MONOTONIC: its group */
};

struct start_capture {
	struct start_container container;
	char namespace[64];
	int64_t frequency_hertz;
	int64_t missed_ns;              /* between its group's appearance and the first sample that could come; 0: none */
	struct cgroup_cpu group_begin;  /* when sampling began */
	struct perf_sampler *perf;
	struct perf_pump *pump;
	int64_t runtime_ns; /* CLOCK_MONOTONIC: the runtime was seen in a process. 0: not yet */
	/* the process, once there is one: */
	struct target target; /* who it is, as the kernel says; nothing of the runtime's word */
	int proc_fd, root_fd; /* of the process; -1: none */
	int pid_fd;           /* the same; -1: none, or the kernel has none */
	struct buf maps;      /* /proc/PID/maps as it was last */
	char *main_path;      /* of the executable; NULL: not known */
	bool ended;           /* the process has, or the container before there was one */
	int64_t ended_ns;     /* CLOCK_MONOTONIC: this was seen */
	bool unreadable;      /* what was to be read of it did not come: it is left alone */
	/* a look into the process, in a thread of its own: its files and memory may keep who reads them waiting for ever. NULL: none is under way */
	struct apart *reading;
	struct process_read *read;
	int64_t reading_since_ns;
};

/* Opens the events. `late`: it has run for a while already. NULL: they are refused. */
struct start_capture *start_capture_open(const struct start_container *container, bool late, const char *namespace, int64_t frequency_hertz, struct err *e);
void start_capture_free(struct start_capture *c);

/* Looks for a process with .NET's runtime in the group; what it finds is seen by one of the next calls. true: there is one, now or before. */
bool start_capture_look(struct start_capture *c, const char *proc_root);

/* Takes the process's mappings, while it is there; the same. */
void start_capture_update(struct start_capture *c);

/* Forgets what was sampled when that is much: no .NET process has been seen yet. */
void start_capture_trim(struct start_capture *c);

#endif

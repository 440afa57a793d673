/* One session on one process with the library attached: what all profilers do alike. Preflight, the process held by descriptors,
 * the attach, the time of the session with its ends (time, request, deadline, the process, the library, a stop that was too long),
 * the way out, the outcome. What a profiler does itself is a table of functions. All of it runs in the calling thread; see
 * session_run(). */
#ifndef DRDOTNET_ATTACHED_SESSION_H
#define DRDOTNET_ATTACHED_SESSION_H

#include "agent/session/attached_collect.h"
#include "agent/session/session.h"
#include "agent/attach/code_client.h"
#include "agent/attach/session_attach.h"
#include "agent/session/session_delay.h"
#include "agent/session/session_ending.h"
#include "agent/report/session_facts.h"
#include "common/proto/channel.h"

struct attached_session;

/* NULL: nothing to do there. A step (int) that fails ends the session, which fails with its error; the others only collect. */
struct session_profiler {
	const char *name;
	uint32_t features;     /* CHANNEL_WANT_*: what the library must ask of the runtime at the attach */
	unsigned without;      /* enum target_without: does its work from outside, too, where that is missing: then names may be */
	bool visits;           /* the library is attached for moments only: attached_session_attach() */
	struct session_nothing nothing; /* said when time is over and any() says no */
	size_t own_size;       /* of s->own, zeroed */
	int (*prepare)(struct attached_session *s, struct err *e);  /* before the attach */
	int (*start)(struct attached_session *s, struct err *e);    /* the library is attached and ready */
	int (*serve)(struct attached_session *s, struct err *e);    /* something may have come on the channel; -1: it is broken */
	void (*readable)(struct attached_session *s);               /* own_fd is, or the session is eager */
	void (*tick)(struct attached_session *s, bool last);        /* about each second, and once after the stop */
	void (*live)(struct attached_session *s, struct buf *out);  /* what is seen so far, in a line, for those who watch; each few seconds */
	int (*stop)(struct attached_session *s, struct err *e);     /* the time is over, however it ended; the last tick follows */
	void (*take)(struct attached_session *s);                   /* after the detach, before what is open is closed: last figures */
	bool (*any)(const struct attached_session *s);              /* there is something to report */
	/* Analysis and files; the library is out of the process by then. -1: what is written and the diagnosis count all the same. */
	int (*report)(struct attached_session *s, struct report_result *out, struct err *e);
	void (*fini)(struct attached_session *s);
};

/* Names and beginnings of managed code without the library, for one that goes without it: as attached_session_resolve() and attached_session_ask_code(). */
struct session_outside {
	int (*resolve)(void *ctx, const uint64_t *ips, size_t count, const struct resolved_function **out);
	int (*code)(void *ctx, const uint64_t *ips, size_t count, struct channel_code_body *out);
	void *ctx;
};

struct attached_session {
	const struct session_profiler *profiler;
	const struct session_request *q;
	struct session_outcome *out;
	struct session_facts facts; /* whole when report() is called */
	struct session_progress progress;
	struct session_attach attach;
	struct err unattached;      /* why the library is not there, of one that goes without it; no reason: it is, or will be */
	struct session_outside outside; /* set by prepare(); zeroed: nobody knows names without the library */
	struct code_client code;
	struct channel_stats stats; /* the library's account, after the detach */
	int proc_fd, pid_fd;        /* -1 in shared tmp mode */
	int64_t started_ns, ended_ns; /* CLOCK_MONOTONIC; started: set by prepare(), else when the library is ready */
	int64_t counts_from_ns;     /* its duration does; may be set by start(), 0: from started_ns */
	struct session_delay delay; /* from started_ns on */
	int64_t own_begin_ns;       /* CPU time of this thread */
	int64_t helper_cpu_ns;      /* of threads of ours beside it */
	enum session_ending ending;
	struct channel_pause pause; /* that ended it */
	bool attached;              /* the library is in the process, or has been there */
	bool broken;                /* the channel: nothing can be asked any more */
	bool stopped;               /* the process could not run at the last look */
	bool exited;                /* the process had ended when the collecting was over */
	bool done;                  /* all is collected: the session need not wait for its time */
	/* the profiler's */
	void *own;
	int own_fd;                 /* watched while the session runs; -1: none */
	bool eager;                 /* readable() is called each 10 ms, too */
	int64_t samples, first_sample_ns; /* for the progress; CLOCK_MONOTONIC, 0: none yet */
	struct buf live;
	int64_t live_ns;            /* when that was made; CLOCK_MONOTONIC */
};

/* The whole session. Never fails as a call. */
void attached_session_run(const struct session_profiler *p, const struct session_request *q, struct session_outcome *out);

/* For the profilers ------------------------------------------------------------------------------------------------------ */

/* One that visits the process: the library goes in, with what it must ask of the runtime, and out again. -1: nothing of it is left to do. */
int attached_session_attach(struct attached_session *s, uint32_t features, struct err *e);
void attached_session_detach(struct attached_session *s);

/* When its time is over, if nothing ends it before (CLOCK_MONOTONIC). */
int64_t attached_session_end_ns(const struct attached_session *s);

/* Before work of our own that may take so long: nothing is said until it is done. */
void attached_session_wait(const struct attached_session *s, int64_t most_ms);

/* Tells the caller how far it is; a sign of life. Call it in long steps at least each 10 s. */
void attached_session_progress(struct attached_session *s, enum job_phase phase);

/* Whether the session is to end now: on request, or past its deadline. For long steps. */
bool attached_session_ended(struct attached_session *s);

#endif

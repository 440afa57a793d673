/* The contract between controller and agent: JSON messages in WebSocket text frames, subprotocol "drdotnet.link.v1",
 * path "/link". Each message is one object with a "type"; unknown types and unknown fields are ignored by either
 * side (so that either may be upgraded first); a known field of the wrong type ends the link. See docs/link-protocol.md.
 *
 * The agent authenticates at the upgrade with "Authorization: Bearer <ServiceAccount token>"; the node's name is taken by
 * the controller from the token's claims or the agent's pod, never from a message. Pure codec; no I/O; any thread. */
#ifndef DRDOTNET_LINK_MSG_H
#define DRDOTNET_LINK_MSG_H

#include "common/api/finding.h"
#include "common/api/session_spec.h"
#include "common/base/err.h"
#include "common/link/link_observation.h"
#include "common/link/link_process.h"
#include "common/link/link_starts.h"
#include "common/link/session_cost.h"

#include <stdbool.h>
#include <stdint.h>

#define LINK_SUBPROTOCOL "drdotnet.link.v1"
#define LINK_PATH "/link"
#define LINK_TOKEN_AUDIENCE "drdotnet-controller"
#define LINK_MESSAGE_MAX (256 * 1024) /* bytes; a longer one ends the link */
#define LINK_ID_SIZE 64
#define LINK_MAX_REPORTS 8
#define LINK_MAX_JOBS 64              /* in a hello */
#define LINK_MAX_PODS 256             /* in a usage query */
#define LINK_MAX_PROFILERS 64         /* names in a hello */
#define LINK_MAX_CONTAINERS 32        /* of a pod, in an order */
#define LINK_MAX_WINDOW_MS 5000       /* of a query for usage or processes */

enum link_msg_type {
	LINK_MSG_UNKNOWN,
	/* agent -> controller */
	LINK_MSG_HELLO,          /* first message after the upgrade and after each reconnect */
	LINK_MSG_TOKEN,          /* a fresh token, before the old one expires (re-reviewed in-band) */
	LINK_MSG_JOB,            /* the state of a job: at each change, and for all jobs after hello */
	LINK_MSG_UPLOAD_REQUEST, /* "I have this file of this job: where to?" */
	LINK_MSG_USAGE,          /* answer to LINK_MSG_USAGE_QUERY */
	LINK_MSG_OBSERVED,       /* what has changed of that which is observed */
	LINK_MSG_PROCESSES,      /* answer to LINK_MSG_PROCESS_QUERY */
	LINK_MSG_STARTED,        /* a .NET process has begun in a new container, as LINK_MSG_AWAIT_STARTS asked for */
	LINK_MSG_JOBS_COMPLETE,  /* the leader of this epoch has been told of every job that the agent has */
	/* controller -> agent */
	LINK_MSG_LEADER,         /* "I lead, with this epoch": sent after hello and when leadership is won */
	LINK_MSG_ORDER,          /* start a job; an order for a known job id is answered with its state */
	LINK_MSG_CANCEL,         /* end a job early, keep its report */
	LINK_MSG_FORGET,         /* the final state is in the API server: drop the job and its files */
	LINK_MSG_UPLOAD_GRANT,
	LINK_MSG_UPLOAD_DENIED,
	LINK_MSG_USAGE_QUERY,    /* CPU and memory of these pods by their cgroups */
	LINK_MSG_OBSERVE,        /* the node's whole set of thresholds to watch, in place of the last one */
	LINK_MSG_PROCESS_QUERY,  /* the .NET processes of these pods */
	LINK_MSG_AWAIT_STARTS,   /* sample new containers of these pods from their first instruction on, and tell of them */
};

enum job_phase {
	JOB_QUEUED,     /* waits for the node's or the process's budget */
	JOB_PREPARING,  /* preflight, staging, attach */
	JOB_PROFILING,  /* samples flow */
	JOB_ANALYZING,  /* detached; the report is being written */
	JOB_DELIVERING, /* reports are written; upload under way */
	JOB_SUCCEEDED,  /* all reports delivered */
	JOB_FAILED,
	JOB_CANCELED,   /* ended early on request; reports delivered if there were any */
};
const char *job_phase_name(enum job_phase phase); /* "Queued", ... as in status.targets[].phase */
int job_phase_parse(const char *name, enum job_phase *out);
static inline bool job_phase_is_final(enum job_phase p) { return p >= JOB_SUCCEEDED; }

/* Whose certificate to expect at an upload's URL. */
enum link_place {
	LINK_PLACE_UNKNOWN,   /* an older controller: go by the URL */
	LINK_PLACE_OWN_STORE, /* the controller's own store: the link's CA */
	LINK_PLACE_OBJECTS,   /* object storage: the installation's, or the system's */
};

struct link_report {
	char name[64];               /* file name: "summary.md", "profile.pb.gz" */
	char media_type[64];
	int64_t size_bytes;
	char sha256[65];             /* hex, lower case */
	bool delivered;              /* the store has answered 2xx */
};

/* What the agent knows of a job. Strings are owned (heap) and may be NULL. */
struct link_job {
	char job_id[LINK_ID_SIZE];
	enum job_phase phase;
	char *reason;                /* CamelCase, common/api/reason.h */
	char *message;
	int64_t queue_position;      /* 1..; 0: not queued */
	char *container;             /* name if the order had it, else the container id */
	char *container_id;
	int64_t pid;                 /* in the container; 0: not known yet */
	bool process_ended;          /* during the session, or while that began */
	char *runtime_version;       /* "10.0.12" */
	char *headline;              /* first line of the diagnosis, <= 80 characters */
	char *diagnosis;             /* <= 2 KiB, lines separated by \n */
	struct finding *findings;    /* what its rules found, the first one leads; owned */
	size_t finding_count;        /* <= FINDINGS_REPORTED */
	int64_t first_sample_wall_ms; /* 0: none yet */
	int64_t started_wall_ms, completed_wall_ms; /* profiling began / job final; 0: not yet */
	struct session_cost cost;
	struct link_report reports[LINK_MAX_REPORTS];
	size_t report_count;
	char *session_namespace, *session_name; /* whose job it is, as the order said: a leader that has not yet heard of it asks */
};
void link_job_fini(struct link_job *j);
void link_job_copy(struct link_job *out, const struct link_job *from);

struct link_container {
	char name[64];               /* Kubernetes container name */
	char id[80];                 /* status.containerStatuses[].containerID without "containerd://" */
};

struct link_order {
	char job_id[LINK_ID_SIZE];
	char session_namespace[64], session_name[254], session_uid[40];
	char requested_by[254];      /* who asked for the session, where the admission policy vouches for it; else "" */
	char pod_namespace[64], pod_name[254], pod_uid[40];
	struct link_container containers[LINK_MAX_CONTAINERS];
	size_t container_count;
	struct session_spec spec;    /* effective */
	char spec_error[ERR_MESSAGE_SIZE]; /* "" or, decoded, why the spec is not understood (a newer controller's): refuse the job */
	int64_t deadline_wall_ms;    /* queue and profiling must have ended by then; the sender's clock */
	int64_t left_ms;             /* the same as time from now on, for a receiver with another clock; 0: not said */
};

struct link_pod_usage {
	char pod_uid[40];
	int64_t cpu_millicores;      /* over the query's window; -1: not known here */
	int64_t memory_bytes;        /* working set; -1 */
};

struct link_msg {
	enum link_msg_type type;
	int64_t epoch;               /* leader, order, cancel, forget, observe, awaitStarts: the fencing epoch, which jobsComplete says again;
	                              * hello: the highest that the agent has seen */
	char job_id[LINK_ID_SIZE];   /* cancel, forget, upload* */
	union {
		struct {
			char agent_version[32];
			char boot_id[40];      /* random per agent process */
			char mode[16];         /* "hostPID" or "sharedTmp" */
			bool perf_events;
			bool process_queries;  /* it answers LINK_MSG_PROCESS_QUERY */
			bool pod_starts;       /* it does as LINK_MSG_AWAIT_STARTS says */
			bool jobs_complete;    /* it sends LINK_MSG_JOBS_COMPLETE */
			unsigned profilers;    /* that it serves: 1 << enum profiler_kind */
			struct link_job *jobs; /* owned */
			size_t job_count;
		} hello;
		struct { char *token; } token; /* owned */
		struct link_job job;
		struct { struct link_report report; } upload_request;
		/* PUT; the signed headers are content-length, content-type and x-amz-checksum-sha256 */
		struct { char report_name[64]; char *url; char *content_type; int64_t expires_wall_ms; enum link_place place; } upload_grant;
		struct { char report_name[64]; char *reason; char *message; bool retry; } upload_denied;
		struct { int64_t request_id; int64_t window_ms; char (*pod_uids)[40]; size_t count; } usage_query;
		struct { int64_t request_id; struct link_pod_usage *pods; size_t count; } usage;
		struct { struct link_observation *items; size_t count; int64_t valid_seconds; } observe; /* forgotten when not confirmed for so long */
		struct { struct link_observed *items; size_t count; } observed;
		struct link_process_query process_query;
		struct link_await_starts await_starts;
		struct { char pod_uid[40], container_id[80]; } started;
		struct link_processes processes;
		struct link_order order;
	} u;
};

/* *out is zeroed first and set by type; finish it with link_msg_fini. ERR_PROTOCOL names the field. An unknown type is
 * LINK_MSG_UNKNOWN and no error. */
int link_msg_decode(const char *text, size_t len, struct link_msg *out, struct err *e);

/* The message as JSON text in a new string (free it); NULL with ERR_INVALID when it is larger than LINK_MESSAGE_MAX. */
char *link_msg_encode(const struct link_msg *m, struct err *e);
void link_msg_fini(struct link_msg *m);

#endif

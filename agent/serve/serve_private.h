/* Private to the local sessions' files: serve_sessions.c (the table), serve_run.c (one session's thread), serve_folder.c (files). */
#ifndef DRDOTNET_SERVE_PRIVATE_H
#define DRDOTNET_SERVE_PRIVATE_H

#include "agent/serve/serve_document.h"
#include "agent/serve/serve_sessions.h"
#include "agent/session/session.h"

#include <pthread.h>
#include <uthash.h>

#define SERVE_NAME_SIZE 64

/* While it waits or runs. */
struct serve_run {
	struct session_spec spec;
	json_t *asked;               /* the same as it was asked for */
	pthread_t thread;
	int cancel_fd;               /* eventfd */
	bool cancelled;
	pid_t pid;                   /* of the process that is being profiled; 0: not chosen */
	struct serve_facts facts;    /* its strings are the run's, or static */
	char *message, *comparison;
	char pod_name[64];
	char *entrypoint, *runtime_version;
};

struct serve_session {
	struct serve_sessions *all;
	char name[254];
	char uid[40];
	int64_t created_wall_ms;
	json_t *document;            /* what the API shows */
	struct serve_run *run;       /* NULL: over */
	bool deleted;                /* goes when its run is over */
	UT_hash_handle hh;
};

struct serve_sessions {
	struct serve_sessions_config config;
	int dir_fd;
	pthread_mutex_t lock;
	pthread_cond_t moved;        /* a run has begun, ended or been canceled */
	struct serve_session *table; /* by name */
	size_t running, unfinished;
	bool stopping;
	pthread_t *ended;            /* threads to be joined */
	size_t ended_count, ended_cap;
};

/* serve_folder.c */
int serve_folder_make(struct serve_sessions *s, const char *name, struct err *e);
/* The session's folder, or -1 with errno. */
int serve_folder_open(const struct serve_sessions *s, const char *name);
void serve_folder_save(const struct serve_sessions *s, const struct serve_session *x);
void serve_folder_remove(const struct serve_sessions *s, const char *name);
int serve_folder_load(struct serve_sessions *s, void (*found)(struct serve_sessions *s, json_t *session), struct err *e);

/* serve_run.c: with the lock held; the session has its run. */
int serve_run_start(struct serve_session *x, struct err *e);

#endif

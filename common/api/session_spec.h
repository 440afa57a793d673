/* The typed `spec` of a ProfilingSession (drdotnet.dev/v1alpha1), as the controller, the agent and the local command
 * use it: read from JSON with full validation (the same bounds as the CRD's schema, for API servers that ignore CEL)
 * and with every default filled in. Pure; no I/O. */
#ifndef DRDOTNET_SESSION_SPEC_H
#define DRDOTNET_SESSION_SPEC_H

#include "common/api/profiler_list.h"
#include "common/base/err.h"
#include "common/base/jsonx.h"

#include <stdbool.h>
#include <stdint.h>

#define API_GROUP "drdotnet.dev"
#define API_VERSION "v1alpha1"
#define API_GROUP_VERSION API_GROUP "/" API_VERSION
#define SESSION_KIND "ProfilingSession"
#define SESSION_PLURAL "profilingsessions"
#define SESSION_FINALIZER "drdotnet.dev/detach"
#define SESSION_REQUESTED_BY "drdotnet.dev/requested-by" /* the annotation that names who asked for the session */

/* "CPUHotpaths" <-> enum. Unknown: -1. */
const char *profiler_kind_name(enum profiler_kind kind);
int profiler_kind_parse(const char *name, enum profiler_kind *out);
unsigned profiler_kinds(void); /* all that this build knows: a bit 1 << kind for each */

struct profiler_words {
	const char *option;   /* "--cpu": stands for it on command lines */
	const char *question; /* "where does the CPU time go?" */
	const char *symptoms; /* "CPU is high|slow once in a while": what it answers best comes first */
	const char *shows, *pauses; /* sentences: what one sees, and when it pauses the application */
};
const struct profiler_words *profiler_kind_words(enum profiler_kind kind); /* static */

/* It looks once at the process, so that its sessions have no duration. */
bool profiler_takes_one_look(enum profiler_kind kind);

/* "cpuHotpaths": the field of the spec that holds a profiler's settings; whether it has one of this name there. */
const char *profiler_settings_key(enum profiler_kind kind);
bool profiler_has_setting(enum profiler_kind kind, const char *setting);

/* How a heap walk knows who holds the objects: "Auto" <-> enum. Unknown: -1. */
enum heap_roots {
	HEAP_ROOTS_AUTO,          /* exact where the predicted stop fits the pause budget, else without a collection */
	HEAP_ROOTS_EXACT,         /* a forced collection tells */
	HEAP_ROOTS_NO_COLLECTION, /* statics, handles and stacks; what none of them holds is said to be held by a handle, or garbage */
};
const char *heap_roots_name(enum heap_roots r);
int heap_roots_parse(const char *name, enum heap_roots *out);

/* Who is served first within a namespace's share: "Low" <-> enum. Unknown: -1. */
enum session_priority { PRIORITY_LOW, PRIORITY_NORMAL, PRIORITY_HIGH };
const char *session_priority_name(enum session_priority p);
int session_priority_parse(const char *name, enum session_priority *out);

/* When the profiling begins: "Now" <-> enum. Unknown: -1. */
enum session_start {
	START_NOW,
	START_NEXT_CONTAINER, /* with the first instruction of the next container of the target that starts */
};
const char *session_start_name(enum session_start s);
int session_start_parse(const char *name, enum session_start *out);

struct label_requirement { /* matchLabels entries become operator In with one value */
	char *key;
	enum { LABEL_IN, LABEL_NOT_IN, LABEL_EXISTS, LABEL_DOES_NOT_EXIST } op;
	char **values;
	size_t value_count;
};

struct session_target {
	char *pod_name;        /* exactly one of pod_name and selector is set (none is allowed for the local command) */
	struct label_requirement *selector;
	size_t selector_count;
	char *container;       /* NULL: any */
	char *entrypoint;      /* NULL: any; matches the entry assembly's name, case-sensitively, with or without ".dll" */
	int64_t pid;           /* in the container; 0: any */
	int64_t max_pods;      /* 1..20, default 1 */
};

struct session_spec {
	enum profiler_kind profiler;
	struct session_target target;
	int64_t duration_seconds;           /* 1..3600, default by profiler; 0 for those that take one look */
	int64_t frequency_hertz;            /* 1..999, default 99 (cpuHotpaths.frequencyHertz) */
	enum heap_roots roots;              /* default Auto (gcSurvivors.roots, memoryLeak.roots) */
	int64_t walks;                      /* 2..10, default 3 (memoryLeak.walks) */
	int64_t pause_budget_ms;            /* 1..60000, default by profiler */
	char *store;                        /* output.store, default "default" */
	int64_t active_deadline_seconds;    /* 1..86400, default 600; >= duration + 10 */
	int64_t ttl_seconds_after_finished; /* 0..31536000, default 604800 */
	enum session_priority priority;     /* default Normal */
	enum session_start start;           /* default Now */
	bool reveal;                        /* contents that are redacted otherwise; needs the verb of the same name */
	char *baseline_session;             /* of the same namespace and profiler, to compare with; NULL: none */
	bool cancel;
};

/* Reads and validates. `spec` is the object under "spec". Errors (ERR_INVALID, REASON_InvalidSpec) name the path, what
 * was expected and what was found. `target_required` false: the local command. *out is set only on success. */
int session_spec_from_json(const json_t *spec, bool target_required, struct session_spec *out, struct err *e);

/* A spec with all defaults for this profiler and no target. */
void session_spec_init(struct session_spec *out, enum profiler_kind profiler);
void session_spec_fini(struct session_spec *s);
void session_spec_copy(struct session_spec *out, const struct session_spec *from);

/* The whole spec with its effective values as a new JSON object (status.effective; the order on the link). What this
 * writes, session_spec_from_json reads to the same spec. */
json_t *session_spec_to_json(const struct session_spec *s);

#endif

#include "common/api/session_spec.h"

#include "common/api/label_selector.h"
#include "common/api/reason.h"
#include "common/base/mem.h"

#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEADLINE_MARGIN_SECONDS 10 /* preparing and detaching need some time beside the duration */

struct profiler_info {
	const char *name, *settings_key;
	int64_t default_duration_seconds; /* 0: one look, no duration */
	int64_t default_pause_budget_ms;
	unsigned settings;
	struct profiler_words words;
};

#define PROFILER_INFO(id, name, key, option, seconds, budget_ms, settings, question, symptoms, shows, pauses, ...) \
	[PROFILER_##id] = {name, key, seconds, budget_ms, settings, {option, question, symptoms, shows, pauses}},
static const struct profiler_info profilers[] = {PROFILER_LIST(PROFILER_INFO, )};
#define PROFILER_COUNT (sizeof profilers / sizeof profilers[0])

static const struct setting {
	const char *key;
	unsigned bit;
	enum { SETTING_NUMBER, SETTING_ROOTS } type;
	size_t at; /* in struct session_spec */
	int64_t min, max;
} settings[] = {
	{"frequencyHertz", PROFILER_FREQUENCY, SETTING_NUMBER, offsetof(struct session_spec, frequency_hertz), 1, 999},
	{"roots", PROFILER_ROOTS, SETTING_ROOTS, offsetof(struct session_spec, roots), 0, 0},
	{"walks", PROFILER_WALKS, SETTING_NUMBER, offsetof(struct session_spec, walks), 2, 10},
};
#define SETTING_COUNT (sizeof settings / sizeof *settings)

const char *profiler_kind_name(enum profiler_kind kind)
{
	return profilers[kind].name;
}

int profiler_kind_parse(const char *name, enum profiler_kind *out)
{
	for (size_t i = 0; i < PROFILER_COUNT; i++) {
		if (strcmp(profilers[i].name, name) == 0) {
			*out = (enum profiler_kind)i;
			return 0;
		}
	}
	return -1;
}

unsigned profiler_kinds(void)
{
	return (1u << PROFILER_COUNT) - 1;
}

const struct profiler_words *profiler_kind_words(enum profiler_kind kind)
{
	return &profilers[kind].words;
}

bool profiler_takes_one_look(enum profiler_kind kind)
{
	return profilers[kind].default_duration_seconds == 0;
}

const char *profiler_settings_key(enum profiler_kind kind)
{
	return profilers[kind].settings_key;
}

bool profiler_has_setting(enum profiler_kind kind, const char *setting)
{
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		if (strcmp(settings[i].key, setting) == 0)
			return profilers[kind].settings & settings[i].bit;
	}
	return false;
}

static const char *const roots[] = {[HEAP_ROOTS_AUTO] = "Auto", [HEAP_ROOTS_EXACT] = "Exact", [HEAP_ROOTS_NO_COLLECTION] = "NoCollection"};

const char *heap_roots_name(enum heap_roots r)
{
	return roots[r];
}

int heap_roots_parse(const char *name, enum heap_roots *out)
{
	for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
		if (strcmp(roots[i], name) == 0) {
			*out = (enum heap_roots)i;
			return 0;
		}
	}
	return -1;
}

static const char *const priorities[] = {[PRIORITY_LOW] = "Low", [PRIORITY_NORMAL] = "Normal", [PRIORITY_HIGH] = "High"};

const char *session_priority_name(enum session_priority p)
{
	return priorities[p];
}

int session_priority_parse(const char *name, enum session_priority *out)
{
	for (size_t i = 0; i < sizeof priorities / sizeof priorities[0]; i++) {
		if (strcmp(priorities[i], name) == 0) {
			*out = (enum session_priority)i;
			return 0;
		}
	}
	return -1;
}

static const char *const starts[] = {[START_NOW] = "Now", [START_NEXT_CONTAINER] = "NextContainerStart"};

const char *session_start_name(enum session_start s)
{
	return starts[s];
}

int session_start_parse(const char *name, enum session_start *out)
{
	for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
		if (strcmp(starts[i], name) == 0) {
			*out = (enum session_start)i;
			return 0;
		}
	}
	return -1;
}

static int invalid_spec(struct err *e, const char *fmt, const char *detail)
{
	return err_set_reason(e, ERR_INVALID, REASON_InvalidSpec, fmt, detail);
}

void session_spec_init(struct session_spec *out, enum profiler_kind profiler)
{
	*out = (struct session_spec){
		.profiler = profiler,
		.target.max_pods = 1,
		.duration_seconds = profilers[profiler].default_duration_seconds,
		.frequency_hertz = 99,
		.walks = 3,
		.pause_budget_ms = profilers[profiler].default_pause_budget_ms,
		.store = mem_strdup("default"),
		.active_deadline_seconds = 600,
		.ttl_seconds_after_finished = 604800,
		.priority = PRIORITY_NORMAL,
	};
}

static void target_part_fini(struct session_target *t)
{
	label_requirements_free(t->selector, t->selector_count);
	free(t->pod_name);
	free(t->container);
	free(t->entrypoint);
}

void session_spec_fini(struct session_spec *s)
{
	if (!s)
		return;
	target_part_fini(&s->target);
	free(s->store);
	free(s->baseline_session);
	*s = (struct session_spec){0};
}

void session_spec_copy(struct session_spec *out, const struct session_spec *from)
{
	*out = *from;
	out->store = mem_strdup(from->store);
	out->baseline_session = mem_strdup(from->baseline_session);
	out->target.pod_name = mem_strdup(from->target.pod_name);
	out->target.container = mem_strdup(from->target.container);
	out->target.entrypoint = mem_strdup(from->target.entrypoint);
	out->target.selector = label_requirements_copy(from->target.selector, from->target.selector_count);
}

/* DNS-1123: lower-case letters, digits, '-' and (in a subdomain) '.', beginning and ending with a letter or digit. */
static bool is_dns_name(const char *s, size_t max, bool dots)
{
	size_t len = strlen(s);
	if (len == 0 || len > max)
		return false;
	for (size_t i = 0; i < len; i++) {
		bool edge = i == 0 || i == len - 1;
		bool alnum = islower((unsigned char)s[i]) || isdigit((unsigned char)s[i]);
		if (!alnum && (edge || !(s[i] == '-' || (dots && s[i] == '.'))))
			return false;
	}
	return true;
}

static int read_dns_name(const json_t *obj, const char *path, const char *key, size_t max, bool dots, char **out, struct err *e)
{
	const char *s = NULL;
	if (jsonx_string(obj, path, key, false, &s, e) < 0)
		return -1;
	if (!s)
		return 0;
	if (!is_dns_name(s, max, dots))
		return err_set_reason(e, ERR_INVALID, REASON_InvalidSpec,
				      "%s.%s: not a valid name: \"%.80s\"; expected at most %zu lower-case letters, digits and '-'%s", path, key, s,
				      max, dots ? " or '.'" : "");
	*out = mem_strdup(s);
	return 0;
}

static int read_target_process(const json_t *process, struct session_target *t, struct err *e)
{
	static const char *const known[] = {"entrypoint", "pid", NULL};
	static const char path[] = "spec.target.process";
	const char *entrypoint = NULL;
	if (jsonx_only_keys(process, path, known, e) < 0 || jsonx_string(process, path, "entrypoint", false, &entrypoint, e) < 0 ||
	    jsonx_int(process, path, "pid", false, 1, 4194304, &t->pid, e) < 0)
		return -1;
	if (entrypoint && (*entrypoint == '\0' || strlen(entrypoint) > 253))
		return invalid_spec(e, "%s.entrypoint: must have 1 to 253 characters", path);
	t->entrypoint = mem_strdup(entrypoint);
	if (process && !t->entrypoint && t->pid == 0)
		return invalid_spec(e, "%s: name entrypoint or pid, or leave it out", path);
	return 0;
}

static int read_target(const json_t *target, bool required, struct session_target *t, struct err *e)
{
	static const char *const known[] = {"selector", "podName", "container", "process", "maxPods", NULL};
	static const char path[] = "spec.target";
	const json_t *selector = NULL, *process = NULL;
	if (jsonx_only_keys(target, path, known, e) < 0 || jsonx_object(target, path, "selector", false, &selector, e) < 0 ||
	    jsonx_object(target, path, "process", false, &process, e) < 0 ||
	    read_dns_name(target, path, "podName", 253, true, &t->pod_name, e) < 0 ||
	    read_dns_name(target, path, "container", 63, false, &t->container, e) < 0 ||
	    jsonx_int(target, path, "maxPods", false, 1, 20, &t->max_pods, e) < 0 || read_target_process(process, t, e) < 0)
		return -1;
	if (selector && label_selector_from_json(selector, "spec.target.selector", &t->selector, &t->selector_count, e) < 0)
		return -1;
	if (t->pod_name && selector)
		return invalid_spec(e, "%s: give either selector or podName, not both", path);
	if (required && !t->pod_name && !selector)
		return invalid_spec(e, "%s: give selector or podName", path);
	return 0;
}

static int read_roots(const json_t *obj, const char *path, enum heap_roots *out, struct err *e)
{
	const char *name = NULL;
	if (jsonx_string(obj, path, "roots", false, &name, e) < 0)
		return -1;
	if (!name || heap_roots_parse(name, out) == 0)
		return 0;
	return err_set_reason(e, ERR_INVALID, REASON_InvalidSpec, "%s.roots: must be Auto, Exact or NoCollection, found \"%.60s\"", path, name);
}

static int read_setting(const json_t *obj, const char *path, const struct setting *x, struct session_spec *s, struct err *e)
{
	void *at = (char *)s + x->at;
	if (x->type == SETTING_ROOTS)
		return read_roots(obj, path, at, e);
	return jsonx_int(obj, path, x->key, false, x->min, x->max, at, e);
}

/* Only the chosen profiler's settings may be there. */
static int read_settings(const json_t *spec, struct session_spec *s, struct err *e)
{
	const struct profiler_info *p = &profilers[s->profiler];
	const char *known[SETTING_COUNT + 1] = {NULL};
	const json_t *obj = NULL;
	char path[64];
	size_t count = 0;
	snprintf(path, sizeof path, "spec.%s", p->settings_key);
	for (size_t i = 0; i < SETTING_COUNT; i++)
		if (p->settings & settings[i].bit)
			known[count++] = settings[i].key;
	if (jsonx_object(spec, "spec", p->settings_key, false, &obj, e) < 0 || jsonx_only_keys(obj, path, known, e) < 0)
		return -1;
	for (size_t i = 0; i < PROFILER_COUNT; i++) {
		if (i != s->profiler && json_object_get(spec, profilers[i].settings_key))
			return err_set_reason(e, ERR_INVALID, REASON_InvalidSpec, "spec.%s: belongs to the profiler %s; leave it out for %s",
					      profilers[i].settings_key, profilers[i].name, p->name);
	}
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		if (p->settings & settings[i].bit && read_setting(obj, path, &settings[i], s, e) < 0)
			return -1;
	}
	return 0;
}

static int read_output(const json_t *spec, struct session_spec *s, struct err *e)
{
	static const char *const known[] = {"store", NULL};
	const json_t *output = NULL;
	char *store = NULL;
	if (jsonx_object(spec, "spec", "output", false, &output, e) < 0 || jsonx_only_keys(output, "spec.output", known, e) < 0 ||
	    read_dns_name(output, "spec.output", "store", 63, false, &store, e) < 0)
		return -1;
	if (store) {
		free(s->store);
		s->store = store;
	}
	return 0;
}

static int read_times(const json_t *spec, struct session_spec *s, struct err *e)
{
	if (profiler_takes_one_look(s->profiler) && json_object_get(spec, "durationSeconds"))
		return invalid_spec(e, "spec.durationSeconds: %s takes one look at the heap: leave it out", profiler_kind_name(s->profiler));
	if (jsonx_int(spec, "spec", "durationSeconds", false, 1, 3600, &s->duration_seconds, e) < 0 ||
	    jsonx_int(spec, "spec", "pauseBudgetMilliseconds", false, 1, 60000, &s->pause_budget_ms, e) < 0 ||
	    jsonx_int(spec, "spec", "activeDeadlineSeconds", false, 1, 86400, &s->active_deadline_seconds, e) < 0 ||
	    jsonx_int(spec, "spec", "ttlSecondsAfterFinished", false, 0, 31536000, &s->ttl_seconds_after_finished, e) < 0)
		return -1;
	int64_t least = s->duration_seconds + DEADLINE_MARGIN_SECONDS;
	if (s->active_deadline_seconds >= least)
		return 0;
	if (!json_object_get(spec, "activeDeadlineSeconds")) {
		s->active_deadline_seconds = s->duration_seconds + 600; /* the default grows with a long session */
		return 0;
	}
	return err_set_reason(e, ERR_INVALID, REASON_InvalidSpec,
			      "spec.activeDeadlineSeconds: must be at least durationSeconds + %d = %" PRId64 ", found %" PRId64,
			      DEADLINE_MARGIN_SECONDS, least, s->active_deadline_seconds);
}

static int read_priority(const json_t *spec, struct session_spec *s, struct err *e)
{
	const char *name = NULL;
	if (jsonx_string(spec, "spec", "priority", false, &name, e) < 0)
		return -1;
	if (!name || session_priority_parse(name, &s->priority) == 0)
		return 0;
	return err_set_reason(e, ERR_INVALID, REASON_InvalidSpec, "spec.priority: must be Low, Normal or High, found \"%.60s\"", name);
}

/* What is said of a process that is not there yet is of no use. */
static int check_start(const struct session_spec *s, bool in_cluster, struct err *e)
{
	static const char only[] = "spec.%s: cannot be set with start: NextContainerStart, which profiles the first .NET process that starts; leave it out";
	if (s->start != START_NEXT_CONTAINER)
		return 0;
	if (!in_cluster)
		return invalid_spec(e, "spec.start: NextContainerStart is for sessions of a cluster; here %s begins with a process",
				    "`drdotnet run -- COMMAND`");
	if (s->profiler != PROFILER_CPU_HOTPATHS)
		return err_set_reason(e, ERR_INVALID, REASON_InvalidSpec,
				      "spec.start: %s cannot begin with a container's start: use CPUHotpaths, or start: Now",
				      profiler_kind_name(s->profiler));
	if (s->target.max_pods != 1)
		return invalid_spec(e, "spec.target.maxPods: must be %s with start: NextContainerStart; create a session for each pod", "1");
	if (s->target.pid || s->target.entrypoint)
		return invalid_spec(e, only, "target.process");
	return s->target.container ? invalid_spec(e, only, "target.container") : 0;
}

static int read_start(const json_t *spec, bool in_cluster, struct session_spec *s, struct err *e)
{
	const char *name = NULL;
	if (jsonx_string(spec, "spec", "start", false, &name, e) < 0)
		return -1;
	if (name && session_start_parse(name, &s->start) < 0)
		return err_set_reason(e, ERR_INVALID, REASON_InvalidSpec, "spec.start: must be Now or NextContainerStart, found \"%.60s\"", name);
	return check_start(s, in_cluster, e);
}

static int read_profiler(const json_t *spec, enum profiler_kind *kind, struct err *e)
{
	const char *name = NULL;
	if (jsonx_string(spec, "spec", "profiler", true, &name, e) < 0)
		return -1;
	if (profiler_kind_parse(name, kind) == 0)
		return 0;
	AUTO_BUF struct buf text;
	buf_init(&text, 400);
	buf_printf(&text, "spec.profiler: unknown profiler \"%.60s\"; known are", name);
	for (size_t i = 0; i < PROFILER_COUNT; i++)
		buf_printf(&text, "%s %s", i ? "," : "", profilers[i].name);
	return invalid_spec(e, "%s", buf_str(&text));
}

#define PROFILER_KEY(id, name, key, ...) key,

static int read_session_spec(const json_t *spec, bool target_required, struct session_spec *s, struct err *e)
{
	static const char *const known[] = {"profiler", "target", "durationSeconds", PROFILER_LIST(PROFILER_KEY, )
					    "pauseBudgetMilliseconds", "output", "activeDeadlineSeconds", "ttlSecondsAfterFinished",
					    "priority", "start", "reveal", "baselineSession", "cancel", NULL};
	const json_t *target = NULL;
	if (jsonx_only_keys(spec, "spec", known, e) < 0 || jsonx_object(spec, "spec", "target", target_required, &target, e) < 0 ||
	    read_target(target, target_required, &s->target, e) < 0 || read_times(spec, s, e) < 0 || read_settings(spec, s, e) < 0 ||
	    read_output(spec, s, e) < 0 || read_priority(spec, s, e) < 0 || read_start(spec, target_required, s, e) < 0 ||
	    jsonx_bool(spec, "spec", "reveal", false, &s->reveal, e) < 0 ||
	    read_dns_name(spec, "spec", "baselineSession", 253, true, &s->baseline_session, e) < 0)
		return -1;
	return jsonx_bool(spec, "spec", "cancel", false, &s->cancel, e);
}

int session_spec_from_json(const json_t *spec, bool target_required, struct session_spec *out, struct err *e)
{
	struct err inner = ERR_INIT;
	enum profiler_kind kind = PROFILER_CPU_HOTPATHS;
	struct session_spec s = {0};
	int rc = -1;
	if (!json_is_object(spec))
		err_set(&inner, ERR_INVALID, 0, "spec: required, expected an object");
	else if (read_profiler(spec, &kind, &inner) == 0) {
		session_spec_init(&s, kind);
		rc = read_session_spec(spec, target_required, &s, &inner);
	}
	if (rc < 0) {
		session_spec_fini(&s);
		inner.reason = REASON_InvalidSpec;
		if (e)
			*e = inner;
		return -1;
	}
	*out = s;
	return 0;
}

static json_t *target_to_json(const struct session_target *t)
{
	json_t *target = json_pack("{s:I}", "maxPods", (json_int_t)t->max_pods);
	if (t->pod_name)
		json_object_set_new(target, "podName", json_string(t->pod_name));
	if (t->selector_count > 0)
		json_object_set_new(target, "selector", label_selector_to_json(t->selector, t->selector_count));
	if (t->container)
		json_object_set_new(target, "container", json_string(t->container));
	if (t->entrypoint || t->pid) {
		json_t *process = json_object();
		if (t->entrypoint)
			json_object_set_new(process, "entrypoint", json_string(t->entrypoint));
		if (t->pid)
			json_object_set_new(process, "pid", json_integer(t->pid));
		json_object_set_new(target, "process", process);
	}
	return target;
}

static json_t *settings_to_json(const struct session_spec *s)
{
	json_t *obj = json_object();
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		const struct setting *x = &settings[i];
		const void *at = (const char *)s + x->at;
		if (profilers[s->profiler].settings & x->bit)
			json_object_set_new(obj, x->key,
					    x->type == SETTING_ROOTS ? json_string(heap_roots_name(*(const enum heap_roots *)at))
								     : json_integer(*(const int64_t *)at));
	}
	return obj;
}

json_t *session_spec_to_json(const struct session_spec *s)
{
	json_t *spec = json_pack("{s:s, s:o, s:I, s:{s:s}, s:I, s:I, s:s, s:b, s:b}", "profiler", profiler_kind_name(s->profiler), "target",
				 target_to_json(&s->target), "pauseBudgetMilliseconds", (json_int_t)s->pause_budget_ms, "output", "store",
				 s->store, "activeDeadlineSeconds", (json_int_t)s->active_deadline_seconds, "ttlSecondsAfterFinished",
				 (json_int_t)s->ttl_seconds_after_finished, "priority", session_priority_name(s->priority), "reveal",
				 (int)s->reveal, "cancel", (int)s->cancel);
	json_object_set_new(spec, profilers[s->profiler].settings_key, settings_to_json(s));
	if (s->duration_seconds)
		json_object_set_new(spec, "durationSeconds", json_integer(s->duration_seconds));
	if (s->start != START_NOW) /* older agents do not know the field */
		json_object_set_new(spec, "start", json_string(session_start_name(s->start)));
	if (s->baseline_session)
		json_object_set_new(spec, "baselineSession", json_string(s->baseline_session));
	return spec;
}

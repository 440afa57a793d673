#include "agent/serve/serve_processes.h"

#include "agent/host/proc.h"
#include "agent/serve/serve_document.h"
#include "agent/target/target.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DISCOVER_MS 5000
#define GOOD_FOR_MS 3000
#define GOOD_FOR_ALL_MS 500 /* even when somebody wants a new look */
#define CPU_WINDOW_MS 200

struct serve_processes {
	pthread_mutex_t lock; /* held while looking: who comes meanwhile waits, and gets what was found */
	json_t *found;
	int64_t found_ms;
	char node[256];
};

struct serve_processes *serve_processes_new(void)
{
	struct serve_processes *p = mem_alloc(sizeof *p);
	pthread_mutex_init(&p->lock, NULL);
	if (gethostname(p->node, sizeof p->node - 1) < 0)
		p->node[0] = '\0';
	return p;
}

void serve_processes_free(struct serve_processes *p)
{
	if (!p)
		return;
	pthread_mutex_destroy(&p->lock);
	json_decref(p->found);
	free(p);
}

/* -1: not known. */
static int64_t process_cpu_ticks(const struct target *t)
{
	struct proc_stat stat;
	AUTO_FD int fd = proc_open(PROC_ROOT, t->pid);
	return fd >= 0 && proc_read_stat(fd, &stat) == 0 && stat.start_time == t->start_time ? (int64_t)(stat.utime_ticks + stat.stime_ticks) : -1;
}

static int64_t process_resident_bytes(const struct target *t)
{
	char text[128];
	long long size, resident;
	AUTO_FD int fd = proc_open(PROC_ROOT, t->pid);
	if (fd < 0 || fsio_read_small(fd, "statm", text, sizeof text) < 0 || sscanf(text, "%lld %lld", &size, &resident) != 2)
		return -1;
	return resident * sysconf(_SC_PAGESIZE);
}

static void set_text_or_empty(json_t *obj, const char *key, const char *text)
{
	json_t *v = text && *text ? json_string(text) : NULL;
	json_object_set_new(obj, key, v ? v : json_string(""));
}

static json_t *listed_process_json(const struct serve_processes *p, const struct target *t, int64_t millicores)
{
	char user[24] = "", container[13];
	json_t *one = json_object();
	int64_t memory = process_resident_bytes(t);
	if (t->uid != (uid_t)-1)
		snprintf(user, sizeof user, "%u", (unsigned)t->uid);
	snprintf(container, sizeof container, "%s", t->container_id ? t->container_id : "");
	set_text_or_empty(one, "namespace", SERVE_NAMESPACE);
	set_text_or_empty(one, "pod", "");
	set_text_or_empty(one, "podUID", t->pod_uid);
	set_text_or_empty(one, "node", p->node);
	set_text_or_empty(one, "container", container);
	json_object_set_new(one, "pid", json_integer(t->pid));
	set_text_or_empty(one, "entrypoint", t->entrypoint);
	set_text_or_empty(one, "runtimeVersion", t->runtime_version);
	set_text_or_empty(one, "user", user);
	if (millicores >= 0)
		json_object_set_new(one, "cpuMillicores", json_integer(millicores));
	if (memory >= 0)
		json_object_set_new(one, "memoryBytes", json_integer(memory));
	json_object_set_new(one, "canProfile", json_boolean(t->profilable));
	if (!t->profilable) {
		const char *remedy = t->reason ? reason_remedy(t->reason) : NULL;
		AUTO_FREE char *message = mem_printf("%s%s%s", t->message ? t->message : "not asked", remedy ? ". " : "", remedy ? remedy : "");
		set_text_or_empty(one, "reason", t->reason);
		set_text_or_empty(one, "message", message);
	}
	return one;
}

/* How much CPU each uses, by two looks at its clock. */
static json_t *describe_all(const struct serve_processes *p, const struct target_list *l)
{
	AUTO_FREE int64_t *before = mem_calloc(l->count + 1, sizeof *before);
	int64_t ticks_per_second = sysconf(_SC_CLK_TCK), began = clock_mono_ms();
	for (size_t i = 0; i < l->count; i++)
		before[i] = process_cpu_ticks(&l->items[i]);
	if (l->count)
		clock_sleep_until_ms(began + CPU_WINDOW_MS);
	json_t *items = json_array();
	for (size_t i = 0; i < l->count; i++) {
		int64_t after = process_cpu_ticks(&l->items[i]), passed = clock_mono_ms() - began;
		int64_t used = after >= 0 && before[i] >= 0 && passed > 0 ? (after - before[i]) * 1000000 / ticks_per_second / passed : -1;
		json_array_append_new(items, listed_process_json(p, &l->items[i], used));
	}
	return items;
}

static int look_for_processes(struct serve_processes *p, struct err *e)
{
	struct discover_options o = {
		.mode = AGENT_MODE_HOST_PID,
		.proc_root = PROC_ROOT,
		.query_runtime = true,
		.deadline_ms = clock_mono_ms() + DISCOVER_MS,
	};
	struct target_list list = {0};
	int rc = discover_targets(&o, &list, e);
	if (rc == 0) {
		json_decref(p->found);
		p->found = json_pack("{s:o, s:[]}", "items", describe_all(p, &list), "warnings");
		p->found_ms = clock_mono_ms();
	}
	target_list_fini(&list);
	return rc;
}

int serve_processes_get(struct serve_processes *p, bool refresh, json_t **out, struct err *e)
{
	int rc = 0;
	pthread_mutex_lock(&p->lock);
	if (!p->found || clock_mono_ms() - p->found_ms > (refresh ? GOOD_FOR_ALL_MS : GOOD_FOR_MS))
		rc = look_for_processes(p, e);
	if (rc == 0)
		*out = json_deep_copy(p->found);
	pthread_mutex_unlock(&p->lock);
	return rc;
}

/* channel_driver PID SOCKET_FOLDER DIAGNOSTICS_SOCKET: drives one profiler library at a time in a real process, by commands on standard input, one JSON
 * line each as the answer. Tests use it to reach the agent's own end of the channel without the rest of the agent.
 *
 *   attach LIBRARY [notification]   loads it (LIBRARY as the target sees it) and waits for its hello
 *   budget MICROSECONDS             of the sessions to come
 *   lease MILLISECONDS              of the sessions to come: the library leaves when nothing was said for so long
 *   pause                           waits until the library has left because a stop was longer than that
 *   resolve HEX...                  names for instruction pointers
 *   stack TID                       names for all words on a sleeping thread's stack that lie in code
 *   sample HERTZ SECONDS            in-process sampling; keeps the samples
 *   allocs EVENT SECONDS            samples of allocations (EVENT 0: the runtime's best); by type, with the first stack
 *   names                           the functions of the kept samples with their counts (self, total), by thread depth
 *   bench COUNT                     time to resolve COUNT pointers (those of the samples, repeated)
 *   detach                          asks the library to leave; its statistics
 *   drop                            closes the channel without a word
 *   load LIBRARY                    attaches another profiler (tests/system/profiler/other_profiler.c)
 */
#include "agent/diag/diag_ipc.h"
#include "agent/diag/diag_socket.h"
#include "agent/attach/profiler_channel.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/proto/channel.h"
#include "tests/system/profiler/driver_allocs.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 10000
#define MAX_IPS (1u << 20)

struct driver {
	struct target target;
	const char *folder;
	int dir_fd;
	unsigned sessions;
	uint32_t budget_us, lease_ms;
	struct profiler_channel *ch;
	/* samples */
	uint64_t *ips;
	size_t ip_count, sample_count, truncated;
	struct {
		size_t first;
		uint16_t depth;
		uint32_t tid;
		int64_t time_ns;
	} *samples;
	size_t sample_cap;
};

static void answer(json_t *o)
{
	char *s = json_dumps(o, JSON_COMPACT);
	puts(s);
	fflush(stdout);
	free(s);
	json_decref(o);
}

static void fail(const struct err *e)
{
	answer(json_pack("{sb ss si ss}", "ok", 0, "kind", err_kind_name(e->kind), "code", e->code, "message", e->message));
}

static int64_t soon(void)
{
	return clock_mono_ms() + WAIT_MS;
}

static int attach(struct driver *d, const char *library, bool notification, struct err *e)
{
	uint8_t data[256];
	char name[32], path[256];

	snprintf(name, sizeof name, "c%u-%d", d->sessions++, (int)getpid());
	snprintf(path, sizeof path, "%s/%s", d->folder, name);
	d->ch = profiler_channel_listen(d->dir_fd, name, e);
	if (!d->ch)
		return -1;
	profiler_channel_set_notification_only(d->ch, notification);
	profiler_channel_set_pause_budget(d->ch, d->budget_us);
	profiler_channel_set_lease(d->ch, d->lease_ms);
	ssize_t n = profiler_channel_client_data(d->ch, path, data, sizeof data, e);
	AUTO_FD int fd = n < 0 ? -1 : diag_ipc_connect(&d->target, soon(), e);
	int r = fd < 0 ? -1 : diag_ipc_attach(fd, profiler_channel_clsid(d->ch), library, data, (size_t)n, 5000, soon(), e);
	steal_fd(&fd); /* used up */
	if (r >= 0)
		r = profiler_channel_accept(d->ch, d->target.pid, soon(), e);
	unlinkat(d->dir_fd, name, 0);
	return r;
}

static void close_channel(struct driver *d)
{
	profiler_channel_free(d->ch);
	d->ch = NULL;
}

static void do_attach(struct driver *d, char *args)
{
	struct err e = ERR_INIT;
	char *library = strtok(args, " "), *how = strtok(NULL, " ");
	int64_t begin = clock_mono_ns();

	if (attach(d, library ? library : "", how && strcmp(how, "notification") == 0, &e) < 0) {
		fail(&e);
		close_channel(d);
		return;
	}
	answer(json_pack("{sb sf sb}", "ok", 1, "ms", (double)(clock_mono_ns() - begin) / 1e6, "notification",
			 profiler_channel_notification_only(d->ch)));
}

static json_t *function_json(const struct resolved_function *f)
{
	if (!f)
		return json_null();
	return json_pack("{ss* ss* ss* ss* ss* ss* sb sb sI sI}", "module", f->module, "type", f->type, "type_args", f->type_args, "method",
			 f->method, "method_args", f->method_args, "params", f->params, "overloaded", f->overloaded, "dynamic",
			 f->dynamic, "start", (json_int_t)f->dynamic_start_ns, "id", (json_int_t)f->function_id);
}

static void resolve_and_answer(struct driver *d, const uint64_t *ips, size_t count)
{
	struct err e = ERR_INIT;
	AUTO_FREE const struct resolved_function **out = mem_calloc(count + 1, sizeof *out);
	int64_t begin = clock_mono_ns();

	if (profiler_channel_resolve(d->ch, ips, count, out, soon(), &e) < 0) {
		fail(&e);
		return;
	}
	double ms = (double)(clock_mono_ns() - begin) / 1e6;
	json_t *list = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, function_json(out[i]));
	answer(json_pack("{sb sf so}", "ok", 1, "ms", ms, "functions", list));
}

static void do_allocs(struct driver *d, char *args)
{
	struct err e = ERR_INIT;
	char *event = strtok(args, " "), *seconds = strtok(NULL, " ");
	json_t *sums = driver_allocs(d->ch, event ? (uint32_t)strtoul(event, NULL, 10) : 0, seconds ? strtod(seconds, NULL) : 1, &e);

	if (sums)
		answer(sums);
	else
		fail(&e);
}

static void do_resolve(struct driver *d, char *args)
{
	uint64_t ips[256];
	size_t n = 0;

	for (char *w = strtok(args, " "); w && n < 256; w = strtok(NULL, " "))
		ips[n++] = strtoull(w, NULL, 16);
	resolve_and_answer(d, ips, n);
}

/* The words of the stack of a thread that waits in the kernel: return addresses are among them. */
static void do_stack(struct driver *d, char *args)
{
	char path[64], line[256] = "";
	AUTO_FREE uint64_t *words = mem_calloc(4096, sizeof *words);

	snprintf(path, sizeof path, "/proc/%d/task/%s/syscall", (int)d->target.pid, args);
	AUTO_FILE FILE *f = fopen(path, "re");
	char *space = f && fgets(line, sizeof line, f) ? strrchr(line, ' ') : NULL;
	if (space)
		*space = '\0';
	space = strrchr(line, ' ');
	uint64_t sp = space ? strtoull(space + 1, NULL, 16) : 0;
	snprintf(path, sizeof path, "/proc/%d/mem", (int)d->target.pid);
	AUTO_FD int mem = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = mem >= 0 && sp ? pread(mem, words, 4096 * sizeof *words, (off_t)sp) : -1;
	if (n < 0)
		answer(json_pack("{sb ss}", "ok", 0, "message", "the thread's stack cannot be read"));
	else
		resolve_and_answer(d, words, (size_t)n / sizeof *words);
}

static void keep_sample(void *ctx, const struct channel_sample *s)
{
	struct driver *d = ctx;

	if (d->ip_count + s->depth > MAX_IPS)
		return;
	GROW(d->samples, d->sample_count, d->sample_cap);
	memcpy(d->ips + d->ip_count, s->ips, s->depth * sizeof *s->ips);
	d->samples[d->sample_count].first = d->ip_count;
	d->samples[d->sample_count].depth = s->depth;
	d->samples[d->sample_count].tid = s->tid;
	d->samples[d->sample_count++].time_ns = s->time_ns;
	d->ip_count += s->depth;
	d->truncated += s->flags & CHANNEL_TRUNCATED;
}

static int sample(struct driver *d, long hertz, double seconds, struct err *e)
{
	int64_t end = clock_mono_ms() + (int64_t)(seconds * 1000);

	if (profiler_channel_sample_start(d->ch, hertz, soon(), e) < 0)
		return -1;
	while (clock_mono_ms() < end)
		if (profiler_channel_poll(d->ch, keep_sample, d, end, e) < 0)
			return -1;
	if (profiler_channel_sample_stop(d->ch, soon(), e) < 0)
		return -1;
	return profiler_channel_poll(d->ch, keep_sample, d, 0, e);
}

static void do_sample(struct driver *d, char *args)
{
	struct err e = ERR_INIT;
	char *rest;
	long hertz = strtol(args, &rest, 10);
	double seconds = strtod(rest, NULL);

	d->ip_count = d->sample_count = d->truncated = 0;
	if (sample(d, hertz, seconds, &e) < 0) {
		fail(&e);
		return;
	}
	answer(json_pack("{sb sI sI sI}", "ok", 1, "samples", (json_int_t)d->sample_count, "truncated", (json_int_t)d->truncated, "ips",
			 (json_int_t)d->ip_count));
}

/* Whether a sample's stack has `f` at or below position k. */
static bool seen_before(const struct resolved_function **out, size_t first, size_t k)
{
	for (size_t i = first; i < k; i++)
		if (out[i] == out[k])
			return true;
	return false;
}

static void count_sample(json_t *by_id, const struct resolved_function **out, size_t first, size_t depth)
{
	char key[32];

	for (size_t k = first; k < first + depth; k++) {
		if (!out[k] || seen_before(out, first, k))
			continue;
		snprintf(key, sizeof key, "%llx-%llx", (unsigned long long)out[k]->function_id,
			 (unsigned long long)out[k]->dynamic_start_ns);
		json_t *o = json_object_get(by_id, key);
		if (!o) {
			o = function_json(out[k]);
			json_object_set_new(o, "self", json_integer(0));
			json_object_set_new(o, "total", json_integer(0));
			json_object_set_new(by_id, key, o);
		}
		const char *names[] = {"total", k == first ? "self" : NULL};
		for (int i = 0; i < 2 && names[i]; i++)
			json_object_set_new(o, names[i], json_integer(json_integer_value(json_object_get(o, names[i])) + 1));
	}
}

static void do_names(struct driver *d)
{
	struct err e = ERR_INIT;
	AUTO_FREE const struct resolved_function **out = mem_calloc(d->ip_count + 1, sizeof *out);

	if (profiler_channel_resolve(d->ch, d->ips, d->ip_count, out, soon(), &e) < 0) {
		fail(&e);
		return;
	}
	json_t *by_id = json_object(), *list = json_array(), *tids = json_object();
	size_t young = 0;
	for (size_t i = 0; i < d->sample_count; i++) {
		char tid[16];
		snprintf(tid, sizeof tid, "%u", d->samples[i].tid);
		json_object_set_new(tids, tid, json_integer(json_integer_value(json_object_get(tids, tid)) + 1));
		for (size_t k = d->samples[i].first; k < d->samples[i].first + d->samples[i].depth; k++)
			if (out[k] && out[k]->dynamic && out[k]->dynamic_start_ns > (uint64_t)d->samples[i].time_ns) {
				out[k] = NULL;
				young++;
			}
		count_sample(by_id, out, d->samples[i].first, d->samples[i].depth);
	}
	const char *key;
	json_t *value;
	json_object_foreach(by_id, key, value) json_array_append(list, value);
	json_decref(by_id);
	answer(json_pack("{sb so so sI}", "ok", 1, "functions", list, "tids", tids, "refused", (json_int_t)young));
}

static void do_bench(struct driver *d, size_t count)
{
	struct err e = ERR_INIT;
	AUTO_FREE uint64_t *ips = mem_calloc(count + 1, sizeof *ips);
	AUTO_FREE const struct resolved_function **out = mem_calloc(count + 1, sizeof *out);

	for (size_t i = 0; i < count; i++)
		ips[i] = d->ip_count ? d->ips[i % d->ip_count] : i;
	int64_t begin = clock_mono_ns();
	if (profiler_channel_resolve(d->ch, ips, count, out, soon(), &e) < 0)
		fail(&e);
	else
		answer(json_pack("{sb sf}", "ok", 1, "ms", (double)(clock_mono_ns() - begin) / 1e6));
}

static void do_detach(struct driver *d)
{
	struct err e = ERR_INIT;
	struct channel_stats s = {0};
	int64_t begin = clock_mono_ns();

	if (profiler_channel_detach(d->ch, &s, soon(), &e) < 0)
		fail(&e);
	else
		answer(json_pack("{sb sf sI sI sI sI sI sI sI sI sI}", "ok", 1, "ms", (double)(clock_mono_ns() - begin) / 1e6, "cpu_ns",
				 (json_int_t)s.cpu_ns, "dropped", (json_int_t)s.dropped_samples, "resolved", (json_int_t)s.resolved,
				 "unresolved", (json_int_t)s.unresolved, "max_wait_ns", (json_int_t)s.max_wait_ns, "memory_bytes",
				 (json_int_t)s.memory_bytes, "pauses", (json_int_t)s.pauses, "paused_ns", (json_int_t)s.paused_ns,
				 "left", (json_int_t)s.left));
	close_channel(d);
}

/* The library's farewell of its own accord: what was too long, and its statistics. */
static void do_pause(struct driver *d)
{
	struct err e = ERR_INIT;
	struct channel_pause p;
	struct channel_stats s = {0};
	int64_t until_ms = soon();

	while (!profiler_channel_pause(d->ch, &p) && clock_mono_ms() < until_ms)
		if (profiler_channel_poll(d->ch, keep_sample, d, until_ms, &e) < 0)
			break;
	if (!profiler_channel_pause(d->ch, &p) || profiler_channel_detach(d->ch, &s, until_ms, &e) < 0)
		fail(&e);
	else
		answer(json_pack("{sb sI sI sI sI}", "ok", 1, "kind", (json_int_t)p.kind, "duration_ns", (json_int_t)p.duration_ns, "budget_ns",
				 (json_int_t)p.budget_ns, "max_wait_ns", (json_int_t)s.max_wait_ns));
	close_channel(d);
}

static void do_load(struct driver *d, const char *library)
{
	static const uint8_t clsid[16] = {0x11, 0x11, 0x11, 0x11, 0x22, 0x22, 0x33, 0x33, 0x44, 0x44, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55};
	struct err e = ERR_INIT;

	int fd = diag_ipc_connect(&d->target, soon(), &e);
	if (fd < 0 || diag_ipc_attach(fd, clsid, library, (const uint8_t *)"x", 1, 5000, soon(), &e) < 0)
		fail(&e);
	else
		answer(json_pack("{sb}", "ok", 1));
}

static void command(struct driver *d, char *line)
{
	char *args = line + strcspn(line, " ");

	if (*args)
		*args++ = '\0';
	if (strcmp(line, "attach") == 0 && !d->ch)
		do_attach(d, args);
	else if (strcmp(line, "budget") == 0) {
		d->budget_us = (uint32_t)strtoul(args, NULL, 10);
		answer(json_pack("{sb}", "ok", 1));
	} else if (strcmp(line, "lease") == 0) {
		d->lease_ms = (uint32_t)strtoul(args, NULL, 10);
		answer(json_pack("{sb}", "ok", 1));
	} else if (strcmp(line, "load") == 0)
		do_load(d, args);
	else if (!d->ch)
		answer(json_pack("{sb ss}", "ok", 0, "message", "not attached, or attached already"));
	else if (strcmp(line, "allocs") == 0)
		do_allocs(d, args);
	else if (strcmp(line, "resolve") == 0)
		do_resolve(d, args);
	else if (strcmp(line, "stack") == 0)
		do_stack(d, args);
	else if (strcmp(line, "sample") == 0)
		do_sample(d, args);
	else if (strcmp(line, "names") == 0)
		do_names(d);
	else if (strcmp(line, "bench") == 0)
		do_bench(d, strtoul(args, NULL, 10));
	else if (strcmp(line, "detach") == 0)
		do_detach(d);
	else if (strcmp(line, "pause") == 0)
		do_pause(d);
	else if (strcmp(line, "drop") == 0) {
		close_channel(d);
		answer(json_pack("{sb}", "ok", 1));
	} else
		answer(json_pack("{sb ss}", "ok", 0, "message", "unknown command"));
}

int main(int argc, char **argv)
{
	char line[8192];

	if (argc != 4) {
		fprintf(stderr, "usage: channel_driver PID SOCKET_FOLDER DIAGNOSTICS_SOCKET\n");
		return 2;
	}
	struct driver d = {
		.target = {.pid = atoi(argv[1]), .uid = (uid_t)-1, .socket_path = argv[3], .tmp_inner = strdup(argv[2]),
			   .tmp_outer = strdup(argv[2])},
		.folder = argv[2],
		.dir_fd = open(argv[2], O_PATH | O_DIRECTORY | O_CLOEXEC),
		.ips = mem_calloc(MAX_IPS, sizeof(uint64_t)),
	};
	struct diag_socket_name name;
	const char *base = strrchr(argv[3], '/');
	if (!base || !diag_socket_parse_name(base + 1, &name))
		return 2;
	d.target.start_time = name.key;
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = '\0';
		command(&d, line);
	}
	close_channel(&d);
	return 0;
}

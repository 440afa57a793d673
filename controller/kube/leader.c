#include "controller/kube/leader.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/thread.h"
#include "controller/kube/kube_clock.h"
#include "controller/kube/lease.h"
#include "controller/base/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>

#define CALL_MS 1500  /* two of them and a pause fit into LEASE_RENEW_BOUND_MS */
#define CALL_LEAST_MS 100
#define RETRY_MS 300

struct leader {
	struct leader_options options;
	char *namespace, *name;
	struct kube_client *client;
	int cancel_fd;
	pthread_t thread;
	struct lease_state state;
	struct lease_record seen;
	struct lease_said said;
};

void leader_identity(char *out, size_t size)
{
	uint64_t random = 0;
	if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
		random = (uint64_t)clock_mono_ns();
	const char *pod = getenv("POD_NAME");
	char host[48] = "";
	if (!pod || !pod[0]) {
		gethostname(host, sizeof host - 1);
		pod = host;
	}
	snprintf(out, size, "%.60s-%016" PRIx64, pod, random);
}

static void changed(struct leader *l, int64_t epoch)
{
	metrics_set(METRIC_LEADER, NULL, epoch != 0);
	metrics_set(METRIC_LEADER_EPOCH, NULL, epoch);
	LOG_INFO("leader", epoch ? "leading" : "no longer leading", LOG_S("identity", l->state.identity), LOG_I("epoch", epoch));
	l->options.on_change(l->options.ctx, epoch);
}

static int read_lease(struct leader *l, struct err *e)
{
	struct kube_ref ref = {.api = KUBE_LEASES, .plural = "leases", .namespace = l->namespace, .name = l->name};
	AUTO_JSON json_t *doc = NULL;
	struct err why = ERR_INIT;
	if (kube_get(l->client, &ref, &doc, &why) == 0) {
		lease_record_from_json(doc, &l->seen);
		return 0;
	}
	l->seen = (struct lease_record){0};
	if (why.kind == ERR_NOT_FOUND)
		return 0;
	*e = why;
	return -1;
}

static int write_lease(struct leader *l, const struct lease_record *w, struct err *e)
{
	struct kube_ref ref = {.api = KUBE_LEASES, .plural = "leases", .namespace = l->namespace, .name = w->exists ? l->name : NULL};
	AUTO_JSON json_t *body = lease_record_to_json(w, l->namespace, l->name);
	return w->exists ? kube_update(l->client, &ref, body, NULL, e) : kube_create(l->client, &ref, body, NULL, e);
}

/* No call may outlast our leadership: who waits for its answer must not think that it leads when others may. */
static void bound_call(struct leader *l)
{
	int64_t left = l->state.leading ? lease_bound_ms(&l->state) - clock_mono_ms() : CALL_MS;
	kube_client_set_timeout(l->client, left > CALL_MS ? CALL_MS : left < CALL_LEAST_MS ? CALL_LEAST_MS : left);
}

static void say_failed(struct leader *l, const struct err *e)
{
	if (lease_worth_saying(&l->said, e, clock_mono_ms()))
		LOG_WARN("leader", l->state.leading ? "lease not renewed" : "lease not read or not taken", LOG_S("error", e->message));
}

static void say_well(struct leader *l)
{
	if (l->said.kind == ERR_NONE)
		return;
	LOG_INFO("leader", l->state.leading ? "lease renewed again" : "lease read again");
	l->said = (struct lease_said){0};
}

/* One look and, where due, one write. Returns when to look again. */
static int64_t leader_turn(struct leader *l)
{
	struct err e = ERR_INIT;
	struct lease_clock now = {clock_mono_ms(), kube_clock_wall_ms()};
	int64_t before = l->state.epoch;
	struct lease_decision d;
	bound_call(l);
	if (read_lease(l, &e) < 0)
		goto failed;
	lease_step(&l->state, &l->seen, now, l->options.highest_epoch(l->options.ctx, lease_epoch_most(&l->seen)), &d);
	if (d.action == LEASE_RESIGN)
		changed(l, 0);
	if (d.action != LEASE_WRITE) {
		say_well(l);
		return d.wake_mono_ms;
	}
	bound_call(l);
	if (write_lease(l, &d.write, &e) < 0)
		goto failed;
	lease_written(&l->state, &d.write, now.mono_ms);
	say_well(l);
	if (l->state.epoch != before)
		changed(l, l->state.epoch);
	return now.mono_ms + LEASE_RENEW_MS;
failed:
	if (e.kind != ERR_CANCELED)
		say_failed(l, &e);
	if (lease_failed(&l->state, clock_mono_ms()))
		changed(l, 0);
	return clock_mono_ms() + RETRY_MS;
}

static void *run_leader(void *arg)
{
	struct leader *l = arg;
	struct pollfd p = {.fd = l->cancel_fd, .events = POLLIN};
	for (;;) {
		int64_t wake = leader_turn(l);
		int64_t wait = wake - clock_mono_ms();
		if (poll(&p, 1, wait > 0 ? (int)wait : 0) > 0)
			return NULL;
	}
}

struct leader *leader_start(const struct leader_options *o, struct err *e)
{
	struct leader *l = mem_alloc(sizeof *l);
	l->options = *o;
	l->namespace = mem_strdup(o->namespace);
	l->name = mem_strdup(o->name);
	snprintf(l->state.identity, sizeof l->state.identity, "%s", o->identity);
	l->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int rc = -1;
	if (l->cancel_fd < 0)
		err_set_errno(e, errno, "eventfd");
	else if ((l->client = kube_client_new(o->config, -1, e))) {
		kube_client_set_timeout(l->client, CALL_MS);
		rc = thread_start(&l->thread, "leader", THREAD_STACK_USUAL, run_leader, l, e);
	}
	if (rc == 0)
		return l;
	kube_client_free(l->client);
	if (l->cancel_fd >= 0)
		close(l->cancel_fd);
	free(l->namespace);
	free(l->name);
	free(l);
	return NULL;
}

static void release_lease(struct leader *l)
{
	struct err e = ERR_INIT;
	if (read_lease(l, &e) == 0 && l->seen.exists && strcmp(l->seen.holder, l->state.identity) == 0) {
		struct lease_record w = l->seen;
		w.holder[0] = '\0';
		w.duration_ms = 1000;
		w.renew_wall_ms = kube_clock_wall_ms();
		if (write_lease(l, &w, &e) == 0)
			return;
	}
	if (e.kind != ERR_NONE)
		LOG_WARN("leader", "lease not given back", LOG_S("error", e.message));
}

void leader_stop(struct leader *l)
{
	if (!l)
		return;
	eventfd_write(l->cancel_fd, 1);
	pthread_join(l->thread, NULL);
	if (l->state.leading) {
		changed(l, 0);
		kube_client_set_timeout(l->client, CALL_MS);
		release_lease(l);
	}
	kube_client_free(l->client);
	close(l->cancel_fd);
	free(l->namespace);
	free(l->name);
	free(l);
}

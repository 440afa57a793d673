#include "controller/triggers/trigger_observe.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/thread.h"
#include "controller/base/metrics.h"
#include "controller/triggers/observe_set.h"
#include "controller/kube/pods.h"
#include "controller/triggers/trigger_reason.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#define TICK_MS 500
#define SOON_MS 5000        /* after a failed list, or when an agent misses a container */
#define PAGE_LIMIT 100
#define MAIL_MAX 2048       /* words of agents that wait; those that are not Normal are said again with each confirmation */
#define UNSEEN_SAID_AT 3    /* a container that an agent still misses when it is asked again and again */
#define RELINKED_MAX 1024   /* nodes; when there are more, all are told */

struct mail {
	char *node;
	struct link_observed what;
};

struct trigger_observe {
	struct trigger_observe_options options;
	struct kube_client *client;
	int stop_fd;
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t news;
	/* guarded: */
	bool stopping, leading, changed;
	struct mail *mail;
	size_t mail_count, mail_cap;
	char *relinked[RELINKED_MAX];
	size_t relinked_count;
	bool all_relinked;
	/* the thread's: */
	struct observe_set set;
	uint64_t revision;
	bool failing; /* to list */
	int64_t next_list_ms;
};

static void count_word(const char *state)
{
	metrics_count(METRIC_OBSERVED, state);
}

/* The set ---------------------------------------------------------------------------------------------------------- */

struct listing {
	struct observe_set *set;
	struct profiling_trigger *trigger;
};

static int on_observed_pod(void *ctx, const json_t *item, struct err *e)
{
	struct listing *l = ctx;
	(void)e;
	observe_set_add_pod(l->set, l->trigger, item);
	return 0;
}

static int list_trigger_pods(struct trigger_observe *t, struct profiling_trigger *trigger, struct observe_set *into, struct err *e)
{
	const struct trigger_threshold *threshold = &trigger->spec.threshold;
	AUTO_FREE char *selector = pods_selector_text(threshold->selector, threshold->selector_count);
	struct kube_ref ref = {.api = KUBE_CORE, .plural = "pods", .namespace = trigger->namespace, .label_selector = selector};
	struct listing l = {into, trigger};
	if (kube_list(t->client, &ref, PAGE_LIMIT, on_observed_pod, &l, NULL, e) < 0)
		return err_prefix(e, "pods of trigger %s/%s", trigger->namespace, trigger->name);
	return 0;
}

static int list_all(struct trigger_observe *t, struct observe_set *into, struct err *e)
{
	size_t count = 0;
	int rc = 0;
	struct profiling_trigger **triggers = triggers_of_source(t->options.triggers, TRIGGER_THRESHOLD, NULL, &count);
	for (size_t i = 0; i < count; i++) {
		if (rc == 0)
			rc = list_trigger_pods(t, triggers[i], into, e);
		trigger_unref(triggers[i]);
	}
	free(triggers);
	return rc;
}

/* What was known stays when the API server does not answer: agents are told again of it, and go on. */
static void list_again(struct trigger_observe *t, int64_t now_ms)
{
	struct observe_set fresh = {.max_entries = TRIGGER_OBSERVE_MAX};
	struct err e = ERR_INIT;
	uint64_t revision = triggers_revision(t->options.triggers);
	t->next_list_ms = now_ms + SOON_MS;
	t->failing = true;
	if (list_all(t, &fresh, &e) < 0) {
		LOG_WARN("observe", "pods cannot be listed; what is observed stays as it is", LOG_S("error", e.message));
		observe_set_fini(&fresh);
		return;
	}
	if (fresh.left_out)
		LOG_WARN("observe", "too many containers to observe; some are left out", LOG_I("left out", fresh.left_out));
	observe_set_carry(&fresh, &t->set);
	observe_set_fini(&t->set);
	t->set = fresh;
	t->revision = revision;
	t->failing = false;
	t->next_list_ms = now_ms + TRIGGER_OBSERVE_LIST_MS;
	metrics_set(METRIC_OBSERVED_CONTAINERS, NULL, HASH_COUNT(t->set.entries));
	metrics_set(METRIC_OBSERVED_LEFT_OUT, NULL, (int64_t)fresh.left_out);
}

static void send_observe_set(struct trigger_observe *t, struct observe_node *n, int64_t now_ms)
{
	AUTO_FREE struct link_observation *items = observe_set_items(n);
	struct err e = ERR_INIT;
	if (agent_hub_observe(t->options.hub, n->name, items, n->count, TRIGGER_OBSERVE_VALID_S, &e) < 0) {
		/* Not linked: it is told when it is. Too slow: with the next tick. */
		LOG_DEBUG("observe", "not told yet", LOG_S("node", n->name), LOG_S("error", e.message));
		return;
	}
	n->told = true;
	n->told_hash = n->hash;
	n->told_mono_ms = now_ms;
}

static void tell_all_due(struct trigger_observe *t)
{
	int64_t now_ms = clock_mono_ms();
	for (struct observe_node *n = t->set.nodes; n; n = n->hh.next) {
		if (observe_set_is_due(n, now_ms, TRIGGER_OBSERVE_CONFIRM_MS))
			send_observe_set(t, n, now_ms);
	}
}

/* Firing ----------------------------------------------------------------------------------------------------------- */

static void fire_threshold(struct trigger_observe *t, const struct observe_entry *en, const struct link_observed *o)
{
	char message[OBSERVE_MESSAGE_SIZE];
	AUTO_FREE char *dedup = mem_printf("%s/%s/%" PRId64, o->pod_uid, o->container, o->since_wall_ms);
	observe_set_message(en, o, message);
	struct trigger_firing f = {en->trigger->namespace, en->trigger->name, TRIGGER_THRESHOLD, dedup, en->pod_name, o->container, message};
	struct err e = ERR_INIT;
	/* What could not be decided now comes again with the agent's next word: it is still above. */
	if (triggers_fire(t->options.triggers, &f, NULL, NULL, &e) < 0)
		LOG_DEBUG("observe", "not fired", LOG_S("trigger", en->trigger->name), LOG_S("error", e.message));
}

static void say_no_limit(struct trigger_observe *t, struct observe_entry *en)
{
	if (en->no_limit_said)
		return;
	en->no_limit_said = true;
	const struct event_subject about = {TRIGGER_KIND, en->trigger->namespace, en->trigger->name, en->trigger->uid};
	AUTO_FREE char *message = mem_printf("container %s of pod %s has no limit to take per cent of", en->what.container, en->pod_name);
	events_record_about(t->options.events, &about, true, TRIGGER_REASON_NoLimit, message);
}

/* For a moment that is nothing: a container is started anew. */
static void say_not_seen(struct trigger_observe *t, struct observe_entry *en, const char *node)
{
	if (++en->unseen < UNSEEN_SAID_AT) /* it is asked again soon */
		en->node->told_mono_ms = clock_mono_ms() - TRIGGER_OBSERVE_CONFIRM_MS + SOON_MS;
	if (en->unseen != UNSEEN_SAID_AT)
		return;
	const struct event_subject about = {TRIGGER_KIND, en->trigger->namespace, en->trigger->name, en->trigger->uid};
	AUTO_FREE char *message = mem_printf("the agent of node %s finds no control group of container %s of pod %s. %s", node, en->what.container,
					     en->pod_name, trigger_reason_remedy(TRIGGER_REASON_NotSeen));
	events_record_about(t->options.events, &about, true, TRIGGER_REASON_NotSeen, message);
}

static void handle_observed(struct trigger_observe *t, const struct mail *m)
{
	struct observe_entry *en = observe_set_find(&t->set, m->node, &m->what);
	count_word(en ? link_observed_state_name(m->what.state) : "NotAsked");
	if (!en)
		return;
	if (m->what.state != LINK_OBSERVED_NOT_FOUND)
		en->unseen = 0;
	switch (m->what.state) {
	case LINK_OBSERVED_ABOVE:
		fire_threshold(t, en, &m->what);
		break;
	case LINK_OBSERVED_NO_LIMIT:
		say_no_limit(t, en);
		break;
	case LINK_OBSERVED_NOT_FOUND: /* its container has been started anew, or it is gone */
		say_not_seen(t, en, m->node);
		if (t->next_list_ms > clock_mono_ms() + SOON_MS)
			t->next_list_ms = clock_mono_ms() + SOON_MS;
		break;
	case LINK_OBSERVED_NORMAL:
		break;
	}
}

/* The thread ------------------------------------------------------------------------------------------------------- */

static void forget_told(struct trigger_observe *t, const char *node)
{
	for (struct observe_node *n = t->set.nodes; n; n = n->hh.next) {
		if (!node || strcmp(n->name, node) == 0)
			n->told = false;
	}
}

static void take_relinked(struct trigger_observe *t, char **nodes, size_t count, bool all)
{
	if (all)
		forget_told(t, NULL);
	for (size_t i = 0; i < count; i++) {
		forget_told(t, nodes[i]);
		free(nodes[i]);
	}
}

static void lead_step(struct trigger_observe *t, const struct mail *mail, size_t count)
{
	int64_t now_ms = clock_mono_ms();
	bool changed = !t->failing && triggers_revision(t->options.triggers) != t->revision;
	if (changed || now_ms >= t->next_list_ms)
		list_again(t, now_ms);
	for (size_t i = 0; i < count; i++)
		handle_observed(t, &mail[i]);
	tell_all_due(t);
}

static void trigger_observe_turn(struct trigger_observe *t, bool leading, const struct mail *mail, size_t count)
{
	if (leading) {
		lead_step(t, mail, count);
		return;
	}
	observe_set_fini(&t->set);
	t->next_list_ms = 0;
}

static void wait_for_news(struct trigger_observe *t)
{
	int64_t tick_ms = t->set.nodes ? clock_mono_ms() + TICK_MS : INT64_MAX;
	int64_t until_ms = tick_ms < t->next_list_ms ? tick_ms : t->next_list_ms;
	while (!t->stopping && !t->changed && !t->mail_count && !t->relinked_count && !t->all_relinked)
		if (thread_cond_wait_until(&t->news, &t->lock, t->leading ? until_ms : INT64_MAX) != 0)
			return;
}

static void free_mail(struct mail *mail, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(mail[i].node);
	free(mail);
}

static void *run_trigger_observe(void *arg)
{
	struct trigger_observe *t = arg;
	char **relinked = mem_calloc(RELINKED_MAX, sizeof *relinked);
	pthread_mutex_lock(&t->lock);
	for (wait_for_news(t); !t->stopping; wait_for_news(t)) {
		struct mail *mail = t->mail;
		size_t count = t->mail_count, relinked_count = t->relinked_count;
		bool all = t->all_relinked, leading = t->leading;
		memcpy(relinked, t->relinked, relinked_count * sizeof *relinked);
		t->mail = NULL;
		t->mail_count = t->mail_cap = t->relinked_count = 0;
		t->all_relinked = t->changed = false;
		pthread_mutex_unlock(&t->lock);
		take_relinked(t, relinked, relinked_count, all);
		trigger_observe_turn(t, leading, mail, count);
		free_mail(mail, count);
		pthread_mutex_lock(&t->lock);
	}
	pthread_mutex_unlock(&t->lock);
	free(relinked);
	return NULL;
}

/* Others' threads -------------------------------------------------------------------------------------------------- */

void trigger_observe_lead(struct trigger_observe *t, bool leading)
{
	pthread_mutex_lock(&t->lock);
	t->leading = leading;
	t->changed = true;
	pthread_cond_signal(&t->news);
	pthread_mutex_unlock(&t->lock);
}

void trigger_observe_changed(struct trigger_observe *t)
{
	pthread_mutex_lock(&t->lock);
	t->changed = true;
	pthread_cond_signal(&t->news);
	pthread_mutex_unlock(&t->lock);
}

void trigger_observe_node(struct trigger_observe *t, const char *node)
{
	pthread_mutex_lock(&t->lock);
	if (!t->leading || t->all_relinked)
		; /* nobody is told, or all are */
	else if (t->relinked_count < RELINKED_MAX)
		t->relinked[t->relinked_count++] = mem_strdup(node);
	else
		t->all_relinked = true;
	pthread_cond_signal(&t->news);
	pthread_mutex_unlock(&t->lock);
}

void trigger_observe_heard(struct trigger_observe *t, const char *node, const struct link_observed *items, size_t count)
{
	size_t dropped = 0;
	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < count && t->leading; i++) {
		if (t->mail_count == MAIL_MAX) {
			dropped = count - i;
			break;
		}
		GROW(t->mail, t->mail_count, t->mail_cap);
		t->mail[t->mail_count++] = (struct mail){mem_strdup(node), items[i]};
	}
	pthread_cond_signal(&t->news);
	pthread_mutex_unlock(&t->lock);
	if (dropped)
		metrics_add(METRIC_OBSERVED, "Dropped", (int64_t)dropped);
}

/* Life ------------------------------------------------------------------------------------------------------------- */

struct trigger_observe *trigger_observe_new(void)
{
	struct trigger_observe *t = mem_alloc(sizeof *t);
	t->stop_fd = -1;
	pthread_mutex_init(&t->lock, NULL);
	thread_cond_init(&t->news);
	return t;
}

int trigger_observe_start(struct trigger_observe *t, const struct trigger_observe_options *o, struct err *e)
{
	t->options = *o;
	t->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->stop_fd < 0)
		return err_set_errno(e, errno, "make an eventfd");
	t->client = kube_client_new(o->kube, t->stop_fd, e);
	if (!t->client)
		return -1;
	t->started = thread_start(&t->thread, "thresholds", THREAD_STACK_USUAL, run_trigger_observe, t, e) == 0;
	return t->started ? 0 : -1;
}

void trigger_observe_stop(struct trigger_observe *t)
{
	if (!t->started)
		return;
	pthread_mutex_lock(&t->lock);
	t->stopping = true;
	t->leading = false;
	pthread_cond_signal(&t->news);
	pthread_mutex_unlock(&t->lock);
	if (eventfd_write(t->stop_fd, 1) < 0) {
		/* it is readable already */
	}
	pthread_join(t->thread, NULL);
	t->started = false;
}

void trigger_observe_free(struct trigger_observe *t)
{
	if (!t)
		return;
	free_mail(t->mail, t->mail_count);
	for (size_t i = 0; i < t->relinked_count; i++)
		free(t->relinked[i]);
	observe_set_fini(&t->set);
	kube_client_free(t->client);
	cleanup_fd(&t->stop_fd);
	pthread_cond_destroy(&t->news);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

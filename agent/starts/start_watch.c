#include "agent/starts/start_watch.h"

#include "agent/host/cgroup_watch.h"
#include "agent/starts/start_share.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/thread.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#define LOOK_SOON_MS 10   /* in the first two seconds, in which a process may come and go */
#define LOOK_LATER_MS 50
#define LOOK_SOON_FOR_MS 2000
#define LOOK_READ_MS 2    /* while a look is under way, ... */
#define LOOK_READ_FOR_MS 50 /* ... in its first moments */
#define APPEARED_MAX 32

struct start_watch {
	struct start_watch_config config;
	pthread_t thread;
	int wake_fd;
	pthread_mutex_t lock;
	/* guarded: */
	bool stopping;
	int64_t valid_until_ms;
	struct link_awaited_pod *pods; /* whose new containers are sampled */
	size_t pod_count;
	struct start_capture *kept[START_MAX]; /* with a .NET process, in the order of their starts */
	size_t kept_count;
	/* the thread's: */
	struct cgroup_watch *groups; /* NULL: nothing is watched */
	struct start_capture *looked_at[START_MAX];
	size_t looked_at_count;
	struct start_container appeared[APPEARED_MAX]; /* of other pods, of late: a ring; pod_uid "": none */
	size_t appeared_next;
};

static int64_t since_ms(int64_t then_ns)
{
	return (clock_mono_ns() - then_ns) / 1000000;
}

static int64_t age_ms(const struct start_capture *c)
{
	return since_ms(c->container.appeared_ns);
}

static bool is_looked_at(const struct start_watch *w, const char *container_id)
{
	for (size_t i = 0; i < w->looked_at_count; i++)
		if (strcmp(w->looked_at[i]->container.container_id, container_id) == 0)
			return true;
	return false;
}

/* Whether one of those that are kept is so young that its process may map libraries, and end, at any moment. With the lock held. */
static bool has_young(const struct start_watch *w)
{
	for (size_t i = 0; i < w->kept_count; i++)
		if (!w->kept[i]->ended && age_ms(w->kept[i]) < LOOK_SOON_FOR_MS)
			return true;
	return false;
}

static void drop_from(struct start_capture **list, size_t *count, size_t at)
{
	start_capture_free(list[at]);
	memmove(&list[at], &list[at + 1], (*count - at - 1) * sizeof *list);
	(*count)--;
}

/* Room for a new container of this namespace; false: the others' share is not larger. With the lock held. */
static bool make_capture_room(struct start_watch *w, const char *namespace)
{
	struct start_held held[2 * START_MAX];
	size_t count = 0;
	for (size_t i = 0; i < w->looked_at_count; i++)
		held[count++] = (struct start_held){w->looked_at[i]->namespace, false};
	for (size_t i = 0; i < w->kept_count; i++)
		held[count++] = (struct start_held){w->kept[i]->namespace, true};
	if (count < START_MAX)
		return true;
	size_t victim = start_share_victim(held, count, namespace);
	if (victim == count)
		return false;
	if (victim < w->looked_at_count)
		drop_from(w->looked_at, &w->looked_at_count, victim);
	else
		drop_from(w->kept, &w->kept_count, victim - w->looked_at_count);
	return true;
}

static void open_capture(struct start_watch *w, const struct start_container *container, const struct link_awaited_pod *pod, bool late)
{
	struct err e = ERR_INIT;
	pthread_mutex_lock(&w->lock);
	bool room = make_capture_room(w, pod->namespace);
	pthread_mutex_unlock(&w->lock);
	if (!room) {
		LOG_WARN("starts", "too many containers start at once; one is not sampled from its beginning", LOG_S("pod", pod->uid));
		return;
	}
	struct start_capture *c = start_capture_open(container, late, pod->namespace, pod->frequency_hertz, &e);
	if (!c) {
		LOG_WARN("starts", "a container cannot be sampled from its beginning", LOG_S("pod", pod->uid), LOG_S("error", e.message));
		return;
	}
	w->looked_at[w->looked_at_count++] = c;
	LOG_INFO("starts", "a new container is sampled", LOG_S("namespace", pod->namespace), LOG_S("pod", pod->uid), LOG_I("hertz", pod->frequency_hertz),
		 LOG_I("missed_ms", c->missed_ns / 1000000));
}

/* Whether this pod is waited for, and how. */
static bool find_wish(struct start_watch *w, const char *pod_uid, struct link_awaited_pod *out)
{
	bool found = false;
	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < w->pod_count && !found; i++) {
		found = strcmp(w->pods[i].uid, pod_uid) == 0;
		if (found)
			*out = w->pods[i];
	}
	pthread_mutex_unlock(&w->lock);
	return found;
}

static void note_group(void *ctx, const struct cgroup_dir *dir, const char *pod_uid, const char *container_id)
{
	struct start_watch *w = ctx;
	struct link_awaited_pod pod;
	struct start_container new = {.dir = *dir, .appeared_ns = clock_mono_ns()};
	snprintf(new.pod_uid, sizeof new.pod_uid, "%s", pod_uid);
	snprintf(new.container_id, sizeof new.container_id, "%s", container_id);
	if (is_looked_at(w, container_id))
		return;
	if (find_wish(w, pod_uid, &pod))
		open_capture(w, &new, &pod, false);
	else
		w->appeared[w->appeared_next++ % APPEARED_MAX] = new;
}

/* Those that have appeared before the controller's word on their pods came. */
static void sample_late(struct start_watch *w)
{
	for (size_t i = 0; i < APPEARED_MAX; i++) {
		struct start_container *a = &w->appeared[i];
		struct link_awaited_pod pod;
		if (!a->pod_uid[0] || (since_ms(a->appeared_ns) < START_LATE_MS && !find_wish(w, a->pod_uid, &pod)))
			continue;
		if (since_ms(a->appeared_ns) < START_LATE_MS && !is_looked_at(w, a->container_id))
			open_capture(w, a, &pod, true);
		a->pod_uid[0] = '\0';
	}
}

/* Keeps it, and tells of it. */
static void keep_capture(struct start_watch *w, struct start_capture *c)
{
	char pod_uid[sizeof c->container.pod_uid], container_id[sizeof c->container.container_id];
	memcpy(pod_uid, c->container.pod_uid, sizeof pod_uid);
	memcpy(container_id, c->container.container_id, sizeof container_id);
	LOG_DEBUG("starts", "a .NET process in a new container", LOG_S("pod", pod_uid), LOG_I("pid", c->target.pid));
	pthread_mutex_lock(&w->lock);
	w->kept[w->kept_count++] = c; /* there is room: those of both lists together are no more */
	pthread_mutex_unlock(&w->lock);
	w->config.started(w->config.ctx, pod_uid, container_id);
}

static void look_at_captures(struct start_watch *w)
{
	size_t left = 0;
	for (size_t i = 0; i < w->looked_at_count; i++) {
		struct start_capture *c = w->looked_at[i];
		if (start_capture_look(c, w->config.proc_root)) {
			keep_capture(w, c);
		} else if (c->ended || c->unreadable || age_ms(c) >= START_LOOK_MS) {
			start_capture_free(c);
		} else {
			start_capture_trim(c);
			w->looked_at[left++] = c;
		}
	}
	w->looked_at_count = left;
}

static bool is_to_go(const struct start_capture *c)
{
	return age_ms(c) >= START_LOOK_MS + START_KEEP_MS || (clock_mono_ns() - c->runtime_ns) / 1000000 >= START_KEEP_MS;
}

static void drop_kept(struct start_watch *w, bool all)
{
	size_t left = 0;
	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < w->kept_count; i++) {
		struct start_capture *c = w->kept[i];
		if (all || is_to_go(c))
			start_capture_free(c);
		else
			w->kept[left++] = c;
	}
	w->kept_count = left;
	pthread_mutex_unlock(&w->lock);
}

/* Those that nobody claims are kept up to date. */
static void update_kept(struct start_watch *w)
{
	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < w->kept_count; i++)
		start_capture_update(w->kept[i]);
	pthread_mutex_unlock(&w->lock);
}

/* Opens or closes the watch; how long until it is to end. */
static int64_t follow_wish(struct start_watch *w)
{
	pthread_mutex_lock(&w->lock);
	int64_t left_ms = w->stopping ? 0 : w->valid_until_ms - clock_mono_ms();
	pthread_mutex_unlock(&w->lock);
	struct err e = ERR_INIT;
	if (left_ms > 0 && !w->groups) {
		w->groups = cgroup_watch_open(w->config.proc_root, &e);
		if (!w->groups)
			LOG_WARN("starts", "the starts of containers cannot be seen", LOG_S("error", e.message));
	} else if (left_ms <= 0 && w->groups) {
		cgroup_watch_close(w->groups);
		w->groups = NULL;
		memset(w->appeared, 0, sizeof w->appeared);
		while (w->looked_at_count)
			start_capture_free(w->looked_at[--w->looked_at_count]);
	}
	return left_ms > 0 ? left_ms : INT64_MAX;
}

static bool reads_now(const struct start_capture *c)
{
	return c->reading && since_ms(c->reading_since_ns) < LOOK_READ_FOR_MS;
}

static int next_look_ms(struct start_watch *w, int64_t wish_ms)
{
	pthread_mutex_lock(&w->lock);
	bool soon = has_young(w), any = w->looked_at_count || w->kept_count, reads = false;
	for (size_t i = 0; i < w->kept_count; i++)
		reads |= reads_now(w->kept[i]);
	pthread_mutex_unlock(&w->lock);
	for (size_t i = 0; i < w->looked_at_count; i++) {
		soon |= age_ms(w->looked_at[i]) < LOOK_SOON_FOR_MS;
		reads |= reads_now(w->looked_at[i]);
	}
	int64_t ms = reads ? LOOK_READ_MS : soon ? LOOK_SOON_MS : any ? LOOK_LATER_MS : INT_MAX;
	ms = ms < wish_ms ? ms : wish_ms;
	return ms >= INT_MAX ? -1 : (int)ms;
}

static void *run_start_watch(void *arg)
{
	struct start_watch *w = arg;
	for (;;) {
		int64_t wish_ms = follow_wish(w);
		pthread_mutex_lock(&w->lock);
		bool over = w->stopping;
		pthread_mutex_unlock(&w->lock);
		if (over)
			break;
		struct pollfd fds[] = {
			{.fd = w->wake_fd, .events = POLLIN},
			{.fd = w->groups ? cgroup_watch_fd(w->groups) : -1, .events = POLLIN},
		};
		eventfd_t count;
		poll(fds, 2, next_look_ms(w, wish_ms));
		if (fds[0].revents && eventfd_read(w->wake_fd, &count) < 0) {
			/* somebody else was faster */
		}
		if (fds[1].revents)
			cgroup_watch_step(w->groups, note_group, w);
		sample_late(w);
		look_at_captures(w);
		drop_kept(w, false);
		update_kept(w);
	}
	drop_kept(w, true);
	return NULL;
}

static void wake_start_watch(struct start_watch *w)
{
	if (eventfd_write(w->wake_fd, 1) < 0) {
		/* it is readable already */
	}
}

struct start_watch *start_watch_new(const struct start_watch_config *c, struct err *e)
{
	struct start_watch *w = mem_alloc(sizeof *w);
	w->config = *c;
	pthread_mutex_init(&w->lock, NULL);
	w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->wake_fd < 0)
		err_set_errno(e, errno, "make an eventfd");
	else if (thread_start(&w->thread, "starts", THREAD_STACK_USUAL, run_start_watch, w, e) == 0)
		return w;
	cleanup_fd(&w->wake_fd);
	pthread_mutex_destroy(&w->lock);
	free(w);
	return NULL;
}

void start_watch_free(struct start_watch *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->stopping = true;
	pthread_mutex_unlock(&w->lock);
	wake_start_watch(w);
	pthread_join(w->thread, NULL);
	cleanup_fd(&w->wake_fd);
	pthread_mutex_destroy(&w->lock);
	free(w->pods);
	free(w);
}

void start_watch_set(struct start_watch *w, const struct link_await_starts *a)
{
	size_t bytes = a->count * sizeof *a->pods;
	struct link_awaited_pod *pods = mem_alloc(bytes ? bytes : 1), *old;
	if (bytes)
		memcpy(pods, a->pods, bytes);
	pthread_mutex_lock(&w->lock);
	old = w->pods;
	w->pods = pods;
	w->pod_count = a->valid_seconds ? a->count : 0;
	w->valid_until_ms = a->valid_seconds ? clock_mono_ms() + a->valid_seconds * 1000 : 0;
	pthread_mutex_unlock(&w->lock);
	free(old);
	wake_start_watch(w);
}

static size_t newest_kept(const struct start_watch *w, const char *pod_uid)
{
	size_t i = w->kept_count;
	while (i > 0 && strcmp(w->kept[i - 1]->container.pod_uid, pod_uid) != 0)
		i--;
	return i;
}

struct start_capture *start_watch_claim(struct start_watch *w, const char *pod_uid)
{
	struct start_capture *found = NULL;
	pthread_mutex_lock(&w->lock);
	size_t at = newest_kept(w, pod_uid);
	if (at > 0) {
		found = w->kept[at - 1];
		memmove(&w->kept[at - 1], &w->kept[at], (w->kept_count - at) * sizeof *w->kept);
		w->kept_count--;
	}
	pthread_mutex_unlock(&w->lock);
	return found;
}

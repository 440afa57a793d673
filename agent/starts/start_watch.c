#include "agent/starts/start_watch.h"

#include "agent/host/cgroup_watch.h"
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

#define CLAIM_MS 3000 /* more than a look into a process may take */
#define LOOK_SOON_MS 10   /* in the first two seconds, in which a process may come and go */
#define LOOK_LATER_MS 50
#define LOOK_SOON_FOR_MS 2000

struct start_watch {
	struct start_watch_config config;
	pthread_t thread;
	int wake_fd;
	pthread_mutex_t lock;
	/* guarded: */
	bool stopping;
	int64_t valid_until_ms, frequency_hertz;
	struct start_capture *kept[START_MAX]; /* with a .NET process, in the order of their starts */
	size_t kept_count;
	const struct start_capture *updated; /* the thread looks at this one: it is not to be claimed meanwhile */
	pthread_cond_t changed;
	/* the thread's: */
	struct cgroup_watch *groups; /* NULL: nothing is watched */
	struct start_capture *looked_at[START_MAX];
	size_t looked_at_count;
};

static int64_t age_ms(const struct start_capture *c)
{
	return (clock_mono_ns() - c->appeared_ns) / 1000000;
}

static bool is_looked_at(const struct start_watch *w, const char *container_id)
{
	for (size_t i = 0; i < w->looked_at_count; i++)
		if (strcmp(w->looked_at[i]->container_id, container_id) == 0)
			return true;
	return false;
}

static int64_t current_frequency(struct start_watch *w, size_t *kept)
{
	pthread_mutex_lock(&w->lock);
	int64_t hertz = w->frequency_hertz;
	*kept = w->kept_count;
	pthread_mutex_unlock(&w->lock);
	return hertz;
}

/* Whether one of those that are kept is so young that its process may map libraries, and end, at any moment. */
static bool has_young(struct start_watch *w)
{
	bool young = false;
	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < w->kept_count; i++)
		young |= !w->kept[i]->ended && age_ms(w->kept[i]) < LOOK_SOON_FOR_MS;
	pthread_mutex_unlock(&w->lock);
	return young;
}

static void sample_group(void *ctx, const struct cgroup_dir *dir, const char *pod_uid, const char *container_id)
{
	struct start_watch *w = ctx;
	struct err e = ERR_INIT;
	size_t kept;
	int64_t hertz = current_frequency(w, &kept);
	if (is_looked_at(w, container_id))
		return;
	if (w->looked_at_count + kept >= START_MAX) {
		LOG_WARN("starts", "too many containers start at once; one is not sampled from its beginning", LOG_S("pod", pod_uid));
		return;
	}
	struct start_capture *c = start_capture_open(dir, pod_uid, container_id, hertz, &e);
	if (c)
		w->looked_at[w->looked_at_count++] = c;
	else
		LOG_WARN("starts", "a container cannot be sampled from its beginning", LOG_S("pod", pod_uid), LOG_S("error", e.message));
}

/* Keeps it, and tells of it. */
static void keep_capture(struct start_watch *w, struct start_capture *c)
{
	char pod_uid[sizeof c->pod_uid], container_id[sizeof c->container_id];
	memcpy(pod_uid, c->pod_uid, sizeof pod_uid);
	memcpy(container_id, c->container_id, sizeof container_id);
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

static void set_updated(struct start_watch *w, const struct start_capture *c)
{
	w->updated = c;
	if (!c)
		pthread_cond_broadcast(&w->changed);
}

/* Those that nobody claims are kept up to date, without the lock: nobody else waits for a pod's files. */
static void update_kept(struct start_watch *w)
{
	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < w->kept_count; i++) {
		struct start_capture *c = w->kept[i];
		set_updated(w, c);
		pthread_mutex_unlock(&w->lock);
		start_capture_update(c);
		pthread_mutex_lock(&w->lock);
		set_updated(w, NULL);
	}
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
		while (w->looked_at_count)
			start_capture_free(w->looked_at[--w->looked_at_count]);
	}
	return left_ms > 0 ? left_ms : INT64_MAX;
}

static int next_look_ms(struct start_watch *w, int64_t wish_ms)
{
	size_t kept;
	bool soon = has_young(w);
	current_frequency(w, &kept);
	for (size_t i = 0; i < w->looked_at_count; i++)
		soon |= age_ms(w->looked_at[i]) < LOOK_SOON_FOR_MS;
	int64_t ms = soon ? LOOK_SOON_MS : w->looked_at_count || kept ? LOOK_LATER_MS : INT_MAX;
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
			cgroup_watch_step(w->groups, sample_group, w);
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
	thread_cond_init(&w->changed);
	w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->wake_fd < 0)
		err_set_errno(e, errno, "make an eventfd");
	else if (thread_start(&w->thread, "starts", THREAD_STACK_USUAL, run_start_watch, w, e) == 0)
		return w;
	cleanup_fd(&w->wake_fd);
	pthread_cond_destroy(&w->changed);
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
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

void start_watch_set(struct start_watch *w, int64_t valid_seconds, int64_t frequency_hertz)
{
	pthread_mutex_lock(&w->lock);
	w->valid_until_ms = valid_seconds ? clock_mono_ms() + valid_seconds * 1000 : 0;
	w->frequency_hertz = frequency_hertz;
	pthread_mutex_unlock(&w->lock);
	wake_start_watch(w);
}

static size_t newest_kept(const struct start_watch *w, const char *pod_uid)
{
	size_t i = w->kept_count;
	while (i > 0 && strcmp(w->kept[i - 1]->pod_uid, pod_uid) != 0)
		i--;
	return i;
}

struct start_capture *start_watch_claim(struct start_watch *w, const char *pod_uid)
{
	struct start_capture *found = NULL;
	int64_t until_ms = clock_mono_ms() + CLAIM_MS;
	size_t at;
	pthread_mutex_lock(&w->lock);
	while ((at = newest_kept(w, pod_uid)) > 0 && w->kept[at - 1] == w->updated && thread_cond_wait_until(&w->changed, &w->lock, until_ms) == 0)
		;
	if (at > 0 && w->kept[at - 1] != w->updated) {
		found = w->kept[at - 1];
		memmove(&w->kept[at - 1], &w->kept[at], (w->kept_count - at) * sizeof *w->kept);
		w->kept_count--;
	}
	pthread_mutex_unlock(&w->lock);
	return found;
}

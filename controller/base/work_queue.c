#include "controller/base/work_queue.h"

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/base/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum place { PLACE_NONE, PLACE_READY, PLACE_WAITING };

struct wq_entry {
	struct wq_entry *chain, *next_ready;
	enum place place;
	bool in_work;
	bool urgent;              /* wanted so */
	bool taken_urgent;        /* the last time */
	bool add_when_done;       /* added, due now, while in work */
	int64_t due_when_done_ms; /* added for later while in work; INT64_MAX: not */
	int64_t due_ms;
	size_t heap_at;
	unsigned failures;
	char key[];
};

static size_t hash_key(const char *key)
{
	uint64_t h = 1469598103934665603u; /* FNV-1a */
	for (; *key; key++)
		h = (h ^ (unsigned char)*key) * 1099511628211u;
	return (size_t)h;
}

void wq_core_init(struct wq_core *q, int64_t backoff_least_ms, int64_t backoff_most_ms)
{
	*q = (struct wq_core){.slot_count = 64, .backoff_least_ms = backoff_least_ms, .backoff_most_ms = backoff_most_ms};
	q->slots = mem_calloc(q->slot_count, sizeof *q->slots);
}

void wq_core_fini(struct wq_core *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->slot_count; i++) {
		for (struct wq_entry *w = q->slots[i], *next; w; w = next) {
			next = w->chain;
			free(w);
		}
	}
	free(q->slots);
	free(q->heap);
	*q = (struct wq_core){0};
}

static struct wq_entry **find_wq_entry(struct wq_core *q, const char *key)
{
	struct wq_entry **at = &q->slots[hash_key(key) & (q->slot_count - 1)];
	while (*at && strcmp((*at)->key, key) != 0)
		at = &(*at)->chain;
	return at;
}

static void grow_table(struct wq_core *q)
{
	size_t count = q->slot_count * 2;
	struct wq_entry **slots = mem_calloc(count, sizeof *slots);
	for (size_t i = 0; i < q->slot_count; i++) {
		for (struct wq_entry *w = q->slots[i], *next; w; w = next) {
			next = w->chain;
			struct wq_entry **at = &slots[hash_key(w->key) & (count - 1)];
			w->chain = *at;
			*at = w;
		}
	}
	free(q->slots);
	q->slots = slots;
	q->slot_count = count;
}

static struct wq_entry *find_or_add_wq_entry(struct wq_core *q, const char *key)
{
	struct wq_entry **at = find_wq_entry(q, key);
	if (*at)
		return *at;
	size_t len = strlen(key) + 1;
	struct wq_entry *w = mem_alloc(sizeof *w + len);
	memcpy(w->key, key, len);
	w->due_when_done_ms = INT64_MAX;
	*at = w;
	if (++q->count > q->slot_count)
		grow_table(q);
	return w;
}

/* An entry that is nowhere and has no history needs no memory. */
static void drop_if_idle(struct wq_core *q, struct wq_entry *w)
{
	if (w->place != PLACE_NONE || w->in_work || w->failures)
		return;
	struct wq_entry **at = find_wq_entry(q, w->key);
	*at = w->chain;
	q->count--;
	free(w);
}

static void heap_put(struct wq_core *q, size_t i, struct wq_entry *w)
{
	q->heap[i] = w;
	w->heap_at = i;
}

static void sift(struct wq_core *q, size_t i)
{
	struct wq_entry *w = q->heap[i];
	for (; i > 0 && q->heap[(i - 1) / 2]->due_ms > w->due_ms; i = (i - 1) / 2)
		heap_put(q, i, q->heap[(i - 1) / 2]);
	for (;;) {
		size_t least = 2 * i + 1;
		if (least >= q->heap_count)
			break;
		if (least + 1 < q->heap_count && q->heap[least + 1]->due_ms < q->heap[least]->due_ms)
			least++;
		if (q->heap[least]->due_ms >= w->due_ms)
			break;
		heap_put(q, i, q->heap[least]);
		i = least;
	}
	heap_put(q, i, w);
}

static void heap_add(struct wq_core *q, struct wq_entry *w, int64_t due_ms)
{
	GROW(q->heap, q->heap_count, q->heap_cap);
	w->due_ms = due_ms;
	w->place = PLACE_WAITING;
	heap_put(q, q->heap_count++, w);
	sift(q, w->heap_at);
}

static void heap_remove(struct wq_core *q, struct wq_entry *w)
{
	size_t i = w->heap_at;
	struct wq_entry *last = q->heap[--q->heap_count];
	if (last != w) {
		heap_put(q, i, last);
		sift(q, i);
	}
	w->place = PLACE_NONE;
}

static void make_ready(struct wq_core *q, struct wq_entry *w)
{
	struct wq_list *l = w->urgent ? &q->urgent : &q->ready;
	w->place = PLACE_READY;
	w->next_ready = NULL;
	if (l->tail)
		l->tail->next_ready = w;
	else
		l->head = w;
	l->tail = w;
}

static struct wq_entry *take_first(struct wq_list *l)
{
	struct wq_entry *w = l->head;
	l->head = w->next_ready;
	if (!l->head)
		l->tail = NULL;
	return w;
}

void wq_core_add(struct wq_core *q, const char *key)
{
	struct wq_entry *w = find_or_add_wq_entry(q, key);
	if (w->in_work) {
		w->add_when_done = true;
		return;
	}
	if (w->place == PLACE_READY)
		return;
	if (w->place == PLACE_WAITING)
		heap_remove(q, w);
	make_ready(q, w);
}

void wq_core_add_urgent(struct wq_core *q, const char *key)
{
	find_or_add_wq_entry(q, key)->urgent = true;
	wq_core_add(q, key);
}

void wq_core_add_at(struct wq_core *q, const char *key, int64_t due_ms)
{
	struct wq_entry *w = find_or_add_wq_entry(q, key);
	if (w->in_work) {
		if (due_ms < w->due_when_done_ms)
			w->due_when_done_ms = due_ms;
	} else if (w->place == PLACE_NONE) {
		heap_add(q, w, due_ms);
	} else if (w->place == PLACE_WAITING && due_ms < w->due_ms) {
		w->due_ms = due_ms;
		sift(q, w->heap_at);
	}
}

void wq_core_add_failed(struct wq_core *q, const char *key, int64_t now_ms)
{
	struct wq_entry *w = find_or_add_wq_entry(q, key);
	int64_t delay = clock_doubled_ms(q->backoff_least_ms, q->backoff_most_ms, w->failures++);
	w->urgent = w->urgent || w->taken_urgent;
	wq_core_add_at(q, key, now_ms + delay);
}

void wq_core_forget(struct wq_core *q, const char *key)
{
	struct wq_entry *w = *find_wq_entry(q, key);
	if (!w)
		return;
	w->failures = 0;
	drop_if_idle(q, w);
}

const char *wq_core_take(struct wq_core *q, int64_t now_ms, int64_t *next_ms)
{
	while (q->heap_count && q->heap[0]->due_ms <= now_ms) {
		struct wq_entry *w = q->heap[0];
		heap_remove(q, w);
		make_ready(q, w);
	}
	bool other = q->ready.head && (!q->others_most || q->others_in_work < q->others_most);
	bool urgent = q->urgent.head && !(other && q->urgent_run >= WQ_URGENT_RUN);
	if (!urgent && !other) {
		*next_ms = q->heap_count ? q->heap[0]->due_ms : INT64_MAX;
		return NULL;
	}
	struct wq_entry *w = take_first(urgent ? &q->urgent : &q->ready);
	q->urgent_run = urgent ? q->urgent_run + 1 : 0;
	q->others_in_work += !urgent;
	w->urgent = false;
	w->taken_urgent = urgent;
	w->place = PLACE_NONE;
	w->in_work = true;
	return w->key;
}

void wq_core_done(struct wq_core *q, const char *key)
{
	struct wq_entry *w = *find_wq_entry(q, key);
	if (!w || !w->in_work)
		return;
	w->in_work = false;
	q->others_in_work -= !w->taken_urgent;
	int64_t due_ms = w->due_when_done_ms;
	bool now = w->add_when_done;
	w->due_when_done_ms = INT64_MAX;
	w->add_when_done = false;
	if (now)
		make_ready(q, w);
	else if (due_ms != INT64_MAX)
		heap_add(q, w, due_ms);
	else
		drop_if_idle(q, w);
}

struct work_queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct wq_core core;
	bool stopped;
};

struct work_queue *work_queue_new(size_t workers, int64_t backoff_least_ms, int64_t backoff_most_ms)
{
	struct work_queue *q = mem_alloc(sizeof *q);
	pthread_mutex_init(&q->lock, NULL);
	thread_cond_init(&q->changed);
	wq_core_init(&q->core, backoff_least_ms, backoff_most_ms);
	q->core.others_most = workers - workers / 4;
	return q;
}

void work_queue_free(struct work_queue *q)
{
	if (!q)
		return;
	wq_core_fini(&q->core);
	pthread_cond_destroy(&q->changed);
	pthread_mutex_destroy(&q->lock);
	free(q);
}

void work_queue_add(struct work_queue *q, const char *key)
{
	pthread_mutex_lock(&q->lock);
	wq_core_add(&q->core, key);
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

void work_queue_add_urgent(struct work_queue *q, const char *key)
{
	pthread_mutex_lock(&q->lock);
	wq_core_add_urgent(&q->core, key);
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

void work_queue_add_after(struct work_queue *q, const char *key, int64_t delay_ms)
{
	pthread_mutex_lock(&q->lock);
	wq_core_add_at(&q->core, key, clock_mono_ms() + delay_ms);
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

char *work_queue_take(struct work_queue *q)
{
	char *got = NULL;
	pthread_mutex_lock(&q->lock);
	while (!q->stopped) {
		int64_t next_ms;
		const char *key = wq_core_take(&q->core, clock_mono_ms(), &next_ms);
		if (key) {
			got = mem_strdup(key);
			break;
		}
		thread_cond_wait_until(&q->changed, &q->lock, next_ms);
	}
	pthread_mutex_unlock(&q->lock);
	return got;
}

void work_queue_finish(struct work_queue *q, const char *key, enum work_result result)
{
	pthread_mutex_lock(&q->lock);
	if (result == WORK_FAILED)
		wq_core_add_failed(&q->core, key, clock_mono_ms());
	else
		wq_core_forget(&q->core, key);
	wq_core_done(&q->core, key);
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

void work_queue_shutdown(struct work_queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->stopped = true;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

size_t work_queue_depth(struct work_queue *q)
{
	pthread_mutex_lock(&q->lock);
	size_t n = q->core.count;
	pthread_mutex_unlock(&q->lock);
	return n;
}

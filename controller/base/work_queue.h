/* A queue of keys to work on, as controllers want it: a key is there once however often it is added; the same key is
 * never given to two workers; a key added while it is being worked on comes again afterwards; failing keys come back
 * after a growing delay; keys may be added for later. Urgent keys (somebody waits for them) come before the others, which still get one turn
 * in WQ_URGENT_RUN + 1, and not all workers are ever at work on others: an urgent one finds one that is free.
 *
 * Two layers. `wq_core` is pure: time is an argument, no locks, one thread. `work_queue` wraps it for many threads. */
#ifndef DRDOTNET_WORK_QUEUE_H
#define DRDOTNET_WORK_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WQ_URGENT_RUN 3

struct wq_entry;
struct wq_list {
	struct wq_entry *head, *tail;
};

struct wq_core {
	struct wq_entry **slots; /* hash table, open addressing by chains */
	size_t slot_count, count;
	struct wq_entry **heap;  /* waiting keys by the time they are due */
	size_t heap_count, heap_cap;
	struct wq_list urgent, ready;
	unsigned urgent_run;         /* so many urgent ones were taken in a row */
	size_t others_in_work, others_most; /* 0: no bound */
	int64_t backoff_least_ms, backoff_most_ms;
};

void wq_core_init(struct wq_core *q, int64_t backoff_least_ms, int64_t backoff_most_ms);
void wq_core_fini(struct wq_core *q);

/* Due now. Cancels a later time that the key waits for. */
void wq_core_add(struct wq_core *q, const char *key);

/* The same before others, also when it fails, until it is forgotten. One that is due already keeps its place. */
void wq_core_add_urgent(struct wq_core *q, const char *key);

/* Due at a time; when the key already waits, the earlier time counts. */
void wq_core_add_at(struct wq_core *q, const char *key, int64_t due_ms);

/* Due after this key's next back-off: least, 2 x least, ... most. Only wq_core_forget or a success brings it back to least. */
void wq_core_add_failed(struct wq_core *q, const char *key, int64_t now_ms);
void wq_core_forget(struct wq_core *q, const char *key);

/* The next due key, which is then in work until wq_core_done: a borrowed string that lives until then. NULL: none is due;
 * then *next_ms is when the next one will be (INT64_MAX: none waits). */
const char *wq_core_take(struct wq_core *q, int64_t now_ms, int64_t *next_ms);
void wq_core_done(struct wq_core *q, const char *key);

struct work_queue;

/* `workers` are going to take keys. */
struct work_queue *work_queue_new(size_t workers, int64_t backoff_least_ms, int64_t backoff_most_ms);
void work_queue_free(struct work_queue *q); /* after all workers have left */

void work_queue_add(struct work_queue *q, const char *key);
void work_queue_add_urgent(struct work_queue *q, const char *key);
void work_queue_add_after(struct work_queue *q, const char *key, int64_t delay_ms);

/* Blocks for the next key, a new string that the caller frees; NULL after work_queue_shutdown. */
char *work_queue_take(struct work_queue *q);

enum work_result {
	WORK_DONE,   /* the key's back-off is forgotten */
	WORK_FAILED, /* comes again after its back-off */
};
void work_queue_finish(struct work_queue *q, const char *key, enum work_result result);

void work_queue_shutdown(struct work_queue *q);
size_t work_queue_depth(struct work_queue *q); /* keys due, waiting or in work */

#endif

#include "agent/jobs/job_table.h"

#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

struct job *job_table_find(const struct job_table *t, const char *job_id)
{
	for (size_t i = 0; i < t->count; i++) {
		if (strcmp(t->jobs[i]->order.job_id, job_id) == 0)
			return t->jobs[i];
	}
	return NULL;
}

bool job_table_was_forgotten(const struct job_table *t, const char *job_id)
{
	for (size_t i = 0; i < JOB_TABLE_FORGOTTEN; i++) {
		if (strcmp(t->forgotten[i], job_id) == 0)
			return true;
	}
	return false;
}

void job_table_changed(struct job_table *t, struct job *j)
{
	j->version = ++t->next_version;
}

struct job *job_table_add(struct job_table *t, const struct link_order *o)
{
	if (t->count == LINK_MAX_JOBS)
		return NULL;
	struct job *j = mem_alloc(sizeof *j);
	j->order = *o;
	session_spec_copy(&j->order.spec, &o->spec);
	memcpy(j->state.job_id, o->job_id, sizeof j->state.job_id);
	j->state.phase = JOB_QUEUED;
	j->state.reason = mem_strdup(REASON_Queued);
	j->state.session_namespace = mem_strdup(o->session_namespace);
	j->state.session_name = mem_strdup(o->session_name);
	j->seq = ++t->next_seq;
	j->cancel_fd = j->abort_fd = -1;
	t->jobs[t->count++] = j;
	job_table_changed(t, j);
	return j;
}

void job_table_remove(struct job_table *t, struct job *j, bool remember)
{
	size_t i = 0;
	while (t->jobs[i] != j)
		i++;
	memmove(&t->jobs[i], &t->jobs[i + 1], (t->count - i - 1) * sizeof *t->jobs);
	t->count--;
	if (remember) {
		memcpy(t->forgotten[t->forgotten_next], j->order.job_id, LINK_ID_SIZE);
		t->forgotten_next = (t->forgotten_next + 1) % JOB_TABLE_FORGOTTEN;
	}
	session_spec_fini(&j->order.spec);
	link_job_fini(&j->state);
	free(j->answer.url);
	free(j->answer.message);
	cleanup_fd(&j->cancel_fd);
	cleanup_fd(&j->abort_fd);
	free(j);
}

const struct job *job_table_holder(const struct job_table *t, const char *process)
{
	for (size_t i = 0; process[0] && i < t->count; i++) {
		if (strcmp(t->jobs[i]->process, process) == 0)
			return t->jobs[i];
	}
	return NULL;
}

static bool process_in_use(const struct job_table *t, const char *process)
{
	return job_table_holder(t, process) != NULL;
}

static bool is_long(const struct job *j)
{
	return j->order.spec.duration_seconds > JOB_TABLE_LONG_SECONDS;
}

static bool long_ones_hold_all(const struct job_table *t)
{
	size_t longs = 0;
	for (size_t i = 0; i < t->count; i++)
		longs += t->jobs[i]->has_slot && is_long(t->jobs[i]);
	return t->running == t->max_running && longs == t->running;
}

bool job_table_is_start(const struct job *j)
{
	return j->order.spec.start == START_NEXT_CONTAINER;
}

bool job_table_may_start(const struct job_table *t, const struct job *j)
{
	if (job_table_is_start(j))
		return t->running < 2 * t->max_running;
	bool full = t->running >= t->max_running;
	if ((full && (is_long(j) || !long_ones_hold_all(t))) || process_in_use(t, j->blocked_by))
		return false;
	for (size_t i = 0; i < t->count; i++) {
		const struct job *other = t->jobs[i];
		if (other->waiting && other->seq < j->seq && !(full && is_long(other)) && !process_in_use(t, other->blocked_by))
			return false;
	}
	return true;
}

bool job_table_claim_process(struct job_table *t, struct job *j, const char *process)
{
	if (process_in_use(t, process))
		return false;
	snprintf(j->process, sizeof j->process, "%s", process);
	return true;
}

static int64_t waiting_position(const struct job_table *t, const struct job *j)
{
	int64_t place = 1;
	for (size_t i = 0; i < t->count; i++)
		place += t->jobs[i]->waiting && t->jobs[i]->seq < j->seq;
	return place;
}

bool job_table_renumber(struct job_table *t)
{
	bool news = false;
	for (size_t i = 0; i < t->count; i++) {
		struct job *j = t->jobs[i];
		int64_t place = j->waiting && !job_table_may_start(t, j) ? waiting_position(t, j) : 0;
		if (j->state.queue_position == place)
			continue;
		j->state.queue_position = place;
		job_table_changed(t, j);
		news = true;
	}
	return news;
}

const struct job *job_table_next(const struct job_table *t, uint64_t version)
{
	const struct job *next = NULL;
	for (size_t i = 0; i < t->count; i++) {
		const struct job *j = t->jobs[i];
		if (j->version > version && (!next || j->version < next->version))
			next = j;
	}
	return next;
}

/* The step of a reconcile that asks how the container of a process ended that has ended during its session: the pod's status tells, a second or two after
 * the agent has. */
#include "controller/sessions/reconcile_private.h"

#include "common/api/reason.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <stdlib.h>

#define KUBELET_MS 5000 /* to see the end and to write it down; one that takes longer is not waited for */
#define ASK_AGAIN_MS 500

/* The job has just ended, and so has its process. */
static bool is_to_learn(const struct work *w, size_t i)
{
	const struct link_job *j = &w->s.pods[i].job;
	bool ended = j->phase == JOB_SUCCEEDED || j->phase == JOB_FAILED;
	return ended && j->process_ended && j->container_id && j->container_id[0] && !w->views[i].stored_final;
}

static void say_end(struct link_job *j, const struct container_end *end)
{
	AUTO_BUF struct buf text;
	buf_init(&text, 1024);
	container_end_text(end, &text);
	bool said = j->message && j->message[0];
	char *message = mem_printf("%s%s %s", said ? j->message : "", said ? "; container" : "Container", buf_str(&text));
	free(j->message);
	j->message = message;
}

/* One that its container outlives, as a child of a shell, has an end that no status tells. */
static bool may_come(const struct work *w, const struct link_job *j)
{
	int64_t since_ms = w->now_wall_ms - j->completed_wall_ms;
	return j->completed_wall_ms && since_ms >= 0 && since_ms < KUBELET_MS;
}

/* In this turn its end is not written down yet. */
static void put_off(struct link_job *j)
{
	j->phase = JOB_DELIVERING;
	free(j->reason);
	j->reason = mem_strdup(REASON_Delivering);
	j->completed_wall_ms = 0;
}

int reconcile_learn_ends(struct work *w, struct err *e)
{
	(void)e;
	for (size_t i = 0; w->plan.stage == PLAN_DRIVE && !w->assigned && i < w->s.pod_count; i++) {
		struct session_pod *p = &w->s.pods[i];
		struct container_end end;
		struct err why = ERR_INIT;
		if (!is_to_learn(w, i))
			continue;
		int found = pods_container_end(w->kube, w->s.namespace, p->pod_name, p->pod_uid, p->job.container_id, &end, &why);
		if (found > 0)
			say_end(&p->job, &end);
		if (found != 0 || !may_come(w, &p->job))
			continue;
		put_off(&p->job);
		reconcile_wake_in(w, ASK_AGAIN_MS);
	}
	return 0;
}

/* Of one that failed the message is in the conditions already. */
void reconcile_tell_end(struct work *w)
{
	const struct link_job *j = &w->s.pods[0].job;
	if (w->s.pod_count != 1 || !j->process_ended || j->phase != JOB_SUCCEEDED || !j->message || !j->message[0])
		return;
	AUTO_FREE char *sentence = mem_printf("%s.", j->message);
	session_status_add(&w->s, sentence, w->now_wall_ms);
}

#include "agent/observe/process_answer.h"

#include "agent/diag/diag_ipc.h"
#include "common/api/reason.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "tests/unit/agent/host/fake_proc.h"

#include <pthread.h>

#define UID "11111111-2222-3333-4444-555555555555"

static struct fake_proc proc;
static char parent[512];
static pthread_mutex_t sent_lock = PTHREAD_MUTEX_INITIALIZER;
static size_t sent_count, sent_items, refuse_more_than;
static bool sent_more;

static int take(void *ctx, uint64_t link, const struct link_msg *m, struct err *e)
{
	(void)ctx;
	cr_assert_eq(link, 7);
	if (refuse_more_than && m->u.processes.count > refuse_more_than)
		return err_set(e, ERR_INVALID, 0, "larger than a message");
	pthread_mutex_lock(&sent_lock);
	sent_count++;
	sent_items = m->u.processes.count;
	sent_more = m->u.processes.more;
	pthread_mutex_unlock(&sent_lock);
	return 0;
}

static struct process_answers_config config(void)
{
	return (struct process_answers_config){.mode = AGENT_MODE_SHARED_TMP, .proc_root = proc.root, .shared_parent = parent, .send = take};
}

static void setup(void)
{
	fake_proc_init(&proc);
	fake_path(&proc, parent, "shared");
	mkdir(parent, 0755);
}

static void teardown(void)
{
	fake_proc_fini(&proc);
}

TestSuite(process_answer, .init = setup, .fini = teardown, .timeout = 60);

static void serve(const char *folder, pid_t inner_pid, enum fake_behaviour how)
{
	char path[600];
	struct fake_server s = fake_server(&proc, how, inner_pid);
	snprintf(path, sizeof path, "%s/%s/dotnet-diagnostic-%d-500-socket", parent, folder, inner_pid);
	fake_serve_at(&s, path);
}

Test(process_answer, tells_of_the_pods_that_were_asked_for)
{
	serve("shop_cart-1", 1, FAKE_ANSWERS);
	serve("shop_cart-1", 9, FAKE_SILENT);
	serve("shop_other-1", 1, FAKE_ANSWERS);
	struct link_queried_pod pods[] = {{UID, "shop", "cart-1"}, {"u-2", "shop", "absent"}};
	struct link_process_query q = {.request_id = 1, .window_ms = 100, .pods = pods, .count = 2};
	struct process_answers_config c = config();
	struct link_processes out;
	process_answers_look(&c, &q, &out);
	cr_assert_eq(out.count, 2);
	cr_expect_not(out.more);
	for (size_t i = 0; i < 2; i++) {
		const struct link_process *p = &out.items[i];
		cr_expect_str_eq(p->pod_uid, UID);
		cr_expect_eq(p->user, (int64_t)geteuid());
		cr_expect_eq(p->cpu_millicores, -1, "nobody can tell in this mode");
		cr_expect_eq(p->can_profile, p->reason == NULL);
		cr_expect_eq(p->pid == 1, p->runtime_version != NULL, "only the first one answers");
	}
	link_processes_free(out.items, out.count);
}

static void wait_sent(void)
{
	for (int64_t until = clock_mono_ms() + 30000; clock_mono_ms() < until;) {
		pthread_mutex_lock(&sent_lock);
		size_t count = sent_count;
		pthread_mutex_unlock(&sent_lock);
		if (count)
			return;
		clock_sleep_until_ms(clock_mono_ms() + 5);
	}
	cr_assert_fail("no answer was sent");
}

Test(process_answer, an_answer_that_is_too_large_is_made_smaller)
{
	for (int pid = 1; pid <= 4; pid++)
		serve("shop_cart-1", pid, FAKE_ANSWERS);
	struct link_queried_pod pods[] = {{UID, "shop", "cart-1"}};
	struct link_msg m = {.type = LINK_MSG_PROCESS_QUERY, .u.process_query = {.request_id = 1, .pods = pods, .count = 1}};
	struct process_answers_config c = config();
	struct process_answers *a = process_answers_new(&c);
	refuse_more_than = 3;
	process_answers_start(a, 7, &m);
	wait_sent();
	process_answers_stop(a);
	cr_expect_eq(sent_items, 2);
	cr_expect(sent_more);
	process_answers_start(a, 7, &m);
	process_answers_free(a);
	cr_expect_eq(sent_count, 1, "none begins after the stop");
}

#include "agent/attach/stage_sweep.h"

#include "common/base/mem.h"
#include "tests/unit/agent/host/fake_proc.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

static struct fake_proc proc;
static struct target target;
static char library[512];

static void setup(void)
{
	fake_proc_init(&proc);
	target = (struct target){.mode = AGENT_MODE_HOST_PID, .start_time = 77, .inner_pid = 1};
	target.pid = fake_process(&proc, &(struct fake_process){.inner_pid = 1, .start_time = 77});
	target.proc_dir = mem_printf("%s/%d", proc.root, target.pid);
	target.tmp_inner = mem_strdup("/tmp");
	target.tmp_outer = mem_printf("%s/root/tmp", target.proc_dir);
	fake_text(&proc, "lib.so", "\x7f" "ELF, more or less");
	fake_path(&proc, library, "lib.so");
}

static void teardown(void)
{
	target_fini(&target);
	fake_proc_fini(&proc);
}

TestSuite(stage_sweep, .init = setup, .fini = teardown, .timeout = 20);

static void *sweep_again_and_again(void *ended)
{
	while (!atomic_load((_Atomic bool *)ended)) {
		stage_sweep(&target, 0, NULL);
		usleep(2000); /* a sweep takes less, or every folder that is tried is gone */
	}
	return NULL;
}

/* An agent that starts takes what is not locked for left behind. */
Test(stage_sweep, a_folder_that_is_taken_away_at_once_is_made_again)
{
	_Atomic bool ended = false;
	struct err e = ERR_INIT;
	pthread_t thread;
	cr_assert_eq(pthread_create(&thread, NULL, sweep_again_and_again, &ended), 0);
	for (int i = 0; i < 300; i++) {
		struct stage s;
		cr_assert_eq(stage_prepare(&target, library, &s, &e), 0, "%d: %s", i, e.message);
		cr_expect_eq(faccessat(s.dir_fd, s.library_name, F_OK, 0), 0);
		stage_remove(&s, NULL);
	}
	atomic_store(&ended, true);
	pthread_join(thread, NULL);
}

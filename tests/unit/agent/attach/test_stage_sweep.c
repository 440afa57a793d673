#include "agent/attach/stage_sweep.h"
#include "common/base/mem.h"
#include "tests/unit/agent/host/fake_proc.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

static struct fake_proc proc;
static struct target target;
static char library[512], tmp[512];

/* A target whose /proc is a made-up one and whose /tmp is a folder of the test. */
static void set_up(void)
{
	fake_proc_init(&proc);
	target = (struct target){.mode = AGENT_MODE_HOST_PID, .start_time = 77, .inner_pid = 1, .uid = 1000};
	target.pid = fake_process(&proc, &(struct fake_process){.inner_pid = 1, .start_time = 77, .uid = 1000});
	target.proc_dir = mem_printf("%s/%d", proc.root, target.pid);
	target.tmp_inner = mem_strdup("/tmp");
	target.tmp_outer = mem_printf("%s/root/tmp", target.proc_dir);
	target.socket_path = mem_strdup("/tmp/dotnet-diagnostic-1-77-socket");
	fake_text(&proc, "lib.so", "\x7f" "ELF, more or less");
	fake_path(&proc, library, "lib.so");
	fake_path(&proc, tmp, "%d/root/tmp", target.pid);
}

static void tear_down(void)
{
	target_fini(&target);
	fake_proc_fini(&proc);
}

TestSuite(stage_sweep, .init = set_up, .fini = tear_down, .timeout = 20);

/* There a library that is mapped may have come and gone; the one that is in use holds its file. */
Test(stage_sweep, sweeps_what_musl_keeps_mapped)
{
	struct stage dead;
	char path[1200], maps[64], line[512];
	cr_assert_eq(stage_prepare(&target, library, &dead, NULL), 0);
	cr_expect_not(dead.is_named, "glibc unmaps it");
	flock(dead.dir_fd, LOCK_UN); /* what the kernel does when the agent dies */
	snprintf(maps, sizeof maps, "%d/maps", target.pid);
	snprintf(line, sizeof line, "7f00-7f01 r-xp 00000000 fe:00 9 %s\n", dead.library_inner);
	fake_text(&proc, maps, line);
	target.rid = mem_strdup("linux-musl-x64");
	snprintf(path, sizeof path, "%s/%s/%s", tmp, dead.dir_name, dead.library_name);
	int held = open(path, O_RDONLY | O_CLOEXEC); /* what the library does */
	cr_assert_eq(flock(held, LOCK_SH), 0);
	cr_expect_eq(stage_sweep(&target, 0, NULL), 0, "it is in use");
	close(held);
	cr_expect_eq(stage_sweep(&target, 0, NULL), 1);
	snprintf(path, sizeof path, "%s/%s", tmp, dead.dir_name);
	cr_expect_eq(access(path, F_OK), -1, "its folder is gone");
	stage_remove(&dead, NULL);
}


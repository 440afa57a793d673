#include "agent/attach/stage.h"
#include "agent/attach/stage_sweep.h"
#include "agent/discover/preflight.h"
#include "agent/target/target_fs.h"
#include "common/api/reason.h"
#include "common/base/mem.h"
#include "tests/unit/agent/host/fake_proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>

static struct fake_proc proc;
static struct target target;
static char library[512], tmp[512];

/* A target whose /proc is a made-up one and whose /tmp is a folder of the test. */
static void setup(void)
{
	fake_proc_init(&proc);
	target = (struct target){.mode = AGENT_MODE_HOST_PID, .start_time = 77, .inner_pid = 1, .uid = 1000};
	target.pid = fake_process(&proc, &(struct fake_process){.inner_pid = 1, .start_time = 77, .uid = 1000});
	target.proc_dir = mem_printf("%s/%d", proc.root, target.pid);
	target.tmp_inner = mem_strdup("/tmp");
	target.tmp_outer = mem_printf("%s/root/tmp", target.proc_dir);
	target.socket_path = mem_strdup("/tmp/dotnet-diagnostic-1-77-socket");
	target.runtime_version = mem_strdup("10.0.12");
	target.entrypoint = mem_strdup("Shop");
	fake_text(&proc, "lib.so", "\x7f" "ELF, more or less");
	fake_path(&proc, library, "lib.so");
	fake_path(&proc, tmp, "%d/root/tmp", target.pid);
}

static void teardown(void)
{
	target_fini(&target);
	fake_proc_fini(&proc);
}

TestSuite(stage, .init = setup, .fini = teardown, .timeout = 20);
TestSuite(preflight, .init = setup, .fini = teardown, .timeout = 20);

static size_t entries(const char *path)
{
	DIR *dir = opendir(path);
	size_t n = 0;
	struct dirent *entry;
	cr_assert(dir);
	while ((entry = readdir(dir)))
		n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(dir);
	return n;
}

Test(stage, puts_the_library_in_and_takes_it_away)
{
	struct stage s;
	struct err e = ERR_INIT;
	mode_t old = umask(077);
	cr_assert_eq(stage_prepare(&target, library, &s, &e), 0, "%s", e.message);
	umask(old);
	char path[1024], text[64];
	struct stat st;
	/* sha256 of the content above, from sha256sum */
	cr_expect_str_eq(s.library_name, "libdrdotnet-c7344ca12662debf.so", "%s", s.library_name);
	cr_expect_eq(strncmp(s.dir_inner, "/tmp/.drdotnet-", 15), 0, "%s", s.dir_inner);
	snprintf(path, sizeof path, "%s/root%s", target.proc_dir, s.library_inner);
	cr_assert_eq(stat(path, &st), 0, "%s", path);
	cr_expect_eq(st.st_mode & 07777, 0644);
	cr_expect_geq(fsio_read_small(AT_FDCWD, path, text, sizeof text), 0);
	cr_expect_str_eq(text, "\x7f" "ELF, more or less");
	snprintf(path, sizeof path, "%s/root%s", target.proc_dir, s.dir_inner);
	cr_assert_eq(stat(path, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0711);
	cr_expect_eq(mknodat(s.dir_fd, "c", S_IFREG | 0666, 0), 0);
	stage_remove(&s, NULL);
	cr_expect_eq(entries(tmp), 0);
	cr_expect_eq(s.dir_fd, -1);
	stage_remove(&s, NULL);
	stage_remove(&(struct stage){.tmp_fd = -1, .dir_fd = -1}, NULL);
}

Test(stage, two_sessions_do_not_meet)
{
	struct stage a, b;
	cr_assert_eq(stage_prepare(&target, library, &a, NULL), 0);
	cr_assert_eq(stage_prepare(&target, library, &b, NULL), 0);
	cr_expect_str_neq(a.dir_name, b.dir_name);
	stage_remove(&a, NULL);
	cr_expect_eq(faccessat(b.dir_fd, b.library_name, R_OK, 0), 0);
	stage_remove(&b, NULL);
	cr_expect_eq(entries(tmp), 0);
}

Test(stage, removes_nothing_that_is_not_its_own)
{
	struct stage s;
	char named[1024], aside[1024], victim[1100];
	cr_assert_eq(stage_prepare(&target, library, &s, NULL), 0);
	/* The container's root moves our folder aside and puts another in its place. */
	snprintf(named, sizeof named, "%s/%s", tmp, s.dir_name);
	snprintf(aside, sizeof aside, "%s/aside", tmp);
	cr_assert_eq(rename(named, aside), 0);
	cr_assert_eq(mkdir(named, 0755), 0);
	snprintf(victim, sizeof victim, "%s/%s", named, s.library_name);
	cr_assert_eq(mknod(victim, S_IFREG | 0644, 0), 0);
	stage_remove(&s, NULL);
	cr_expect_eq(access(victim, F_OK), 0, "a file of somebody else is left alone");
	cr_expect_eq(entries(aside), 0, "ours is gone wherever its folder went");
}

Test(stage, does_not_follow_a_link_out_of_the_root)
{
	struct stage s;
	struct err e = ERR_INIT;
	char outside[64] = "/var/tmp/fakeout-XXXXXX", link[600];
	cr_assert(mkdtemp(outside));
	cr_assert_eq(rmdir(tmp), 0);
	cr_assert_eq(symlink(outside, tmp), 0);
	cr_expect_eq(stage_prepare(&target, library, &s, &e), -1);
	cr_expect_str_eq(e.reason, REASON_NoStagingPlace);
	cr_expect_eq(entries(outside), 0);
	/* The same link with such a folder inside the root is the container's own business. */
	snprintf(link, sizeof link, "%s/root%s", target.proc_dir, outside);
	cr_assert_eq(fsio_mkdir_p(link, 0755, NULL), 0);
	cr_assert_eq(stage_prepare(&target, library, &s, &e), 0, "%s", e.message);
	cr_expect_eq(entries(link), 1);
	cr_expect_eq(entries(outside), 0);
	stage_remove(&s, NULL);
	cr_expect_eq(entries(link), 0);
	rmdir(outside);
}

Test(stage, fails_cleanly)
{
	struct stage s;
	struct err e = ERR_INIT;
	cr_expect_eq(stage_prepare(&target, "/nowhere/lib.so", &s, &e), -1);
	cr_expect_eq(e.kind, ERR_NOT_FOUND);
	fake_text(&proc, "empty.so", "");
	char empty[512];
	fake_path(&proc, empty, "empty.so");
	cr_expect_eq(stage_prepare(&target, empty, &s, &e), -1);
	target.start_time++;
	cr_expect_eq(stage_prepare(&target, library, &s, &e), -1);
	cr_expect_eq(e.kind, ERR_GONE);
	cr_expect_str_eq(e.reason, REASON_ProcessExited);
	cr_expect_eq(entries(tmp), 0);
	cr_expect_eq(s.dir_fd, -1);
}

Test(stage, sweeps_what_a_killed_agent_left)
{
	struct stage dead, alive, mapped;
	char path[1200], stat_path[64];
	cr_assert_eq(stage_prepare(&target, library, &dead, NULL), 0);
	cr_assert_eq(stage_prepare(&target, library, &alive, NULL), 0);
	flock(dead.dir_fd, LOCK_UN); /* what the kernel does when the agent dies */
	snprintf(path, sizeof path, "%s/%s/c", tmp, dead.dir_name);
	cr_assert_eq(mknod(path, S_IFREG | 0666, 0), 0);
	snprintf(path, sizeof path, "%s/.drdotnet-notours", tmp);
	cr_assert_eq(mkdir(path, 0755), 0);
	snprintf(path, sizeof path, "%s/.drdotnet-0123456789abcdef", tmp);
	cr_assert_eq(symlink("/etc", path), 0);
	cr_expect_eq(stage_sweep(&target, 3600, NULL), 0, "too young");
	cr_expect_eq(stage_sweep(&target, 0, NULL), 1);
	cr_expect_eq(entries(tmp), 3, "the living session, and what is not ours");
	cr_expect_eq(stage_sweep(&target, 0, NULL), 0);
	stage_remove(&alive, NULL);
	close(dead.dir_fd);
	close(dead.tmp_fd);
	free(dead.dir_inner);
	free(dead.library_inner);

	cr_assert_eq(stage_prepare(&target, library, &mapped, NULL), 0);
	flock(mapped.dir_fd, LOCK_UN);
	snprintf(stat_path, sizeof stat_path, "%d/maps", target.pid);
	snprintf(path, sizeof path, "7f00-7f01 r-xp 00000000 fe:00 9 %s\n", mapped.library_inner);
	fake_text(&proc, stat_path, path);
	cr_expect(stage_library_mapped(&target, mapped.library_name));
	int kept = 0;
	cr_expect_eq(stage_sweep(&target, 0, &kept), 0, "still mapped");
	cr_expect_eq(kept, 1);
	fake_text(&proc, stat_path, FAKE_CORECLR_MAPS);
	cr_expect_not(stage_library_mapped(&target, mapped.library_name));
	cr_expect_eq(stage_sweep(&target, 0, NULL), 1);
	stage_remove(&mapped, NULL);
}

/* By its lock: of this process's map nothing is known. */
Test(stage, sees_a_library_that_is_still_there)
{
	struct stage dead;
	char path[1200];
	cr_assert_eq(stage_prepare(&target, library, &dead, NULL), 0);
	cr_expect_eq(stage_find_library(&target, dead.tmp_fd), -1, "it is not in the process yet");
	flock(dead.dir_fd, LOCK_UN); /* what the kernel does when the agent dies */
	snprintf(path, sizeof path, "%s/%s/%s", tmp, dead.dir_name, dead.library_name);
	int held = open(path, O_RDONLY | O_CLOEXEC); /* what the library does */
	cr_assert_eq(flock(held, LOCK_SH), 0);
	int found = stage_find_library(&target, dead.tmp_fd), kept = 0;
	cr_assert_geq(found, 0);
	struct target neighbour = target; /* another process with the same temporary folder */
	neighbour.socket_path = (char[]){"/tmp/dotnet-diagnostic-9-78-socket"};
	cr_expect_eq(stage_find_library(&neighbour, dead.tmp_fd), -1);
	cr_expect_not(stage_library_gone(found));
	cr_expect_eq(stage_sweep(&target, 0, &kept), 0, "it stays as long as the library");
	cr_expect_eq(kept, 1);
	close(held);
	cr_expect(stage_library_gone(found));
	cr_expect_eq(stage_find_library(&target, dead.tmp_fd), -1);
	cr_expect_eq(stage_sweep(&target, 0, &kept), 1);
	cr_expect_eq(entries(tmp), 0);
	close(found);
	stage_remove(&dead, NULL);
}

/* What is mapped tells nothing alone: musl keeps what has come and gone. */
Test(stage, sees_a_session_under_way)
{
	static const char *const rows[][3] = {
		{"", "/tmp/.drdotnet-1/libdrdotnet-0123456789abcdef.so", NULL},
		{"/tmp/.drdotnet-1/libdrdotnet-0123456789abcdef.so", "/tmp/libc.so", NULL},
		{"/tmp/.drdotnet-1/libdrdotnet-0123456789abcdef.so", "socket:[77]", NULL},
		{"/tmp/libdrdotnet-test.so", "/tmp/libdrdotnet-test.so", NULL},
		{"/tmp/.drdotnet-1/libdrdotnet-0123456789abcdef.so", "/tmp/.drdotnet-1/libdrdotnet-0123456789abcdef.so", "serves"},
		{"/tmp/.drdotnet-1/libdrdotnet-0123456789abcdef.so (deleted)", "/tmp/.drdotnet-1/libdrdotnet-0123456789abcdef.so (deleted)", "serves"},
	};
	char maps[64], folder[1024], path[1100], line[512];
	snprintf(maps, sizeof maps, "%d/maps", target.pid);
	fake_path(&proc, folder, "%d/fd", target.pid);
	cr_assert(mkdir(folder, 0755) == 0 || errno == EEXIST);
	snprintf(path, sizeof path, "%s/7", folder);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		snprintf(line, sizeof line, "7f0000000000-7f0000001000 r-xp 00000000 08:01 42    %s\n", rows[i][0]);
		fake_text(&proc, maps, line);
		cr_assert_eq(symlink(rows[i][1], path), 0);
		cr_expect_eq(stage_library_serves(&target), rows[i][2] != NULL, "row %zu", i);
		unlink(path);
	}
}

Test(stage, takes_nobody_elses_file_for_a_library)
{
	char folder[1024], path[1100], mark[STAGE_MARK_DIGITS + 1];
	int tmp_fd = open(tmp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_eq(stage_mark(&target, mark, NULL), 0);
	snprintf(folder, sizeof folder, "%s/.drdotnet-%s89abcdef", tmp, mark);
	cr_assert_eq(mkdir(folder, 0755), 0);
	snprintf(path, sizeof path, "%s/libdrdotnet-0123456789abcdef.so", folder);
	cr_assert_eq(mkfifo(path, 0644), 0);
	cr_expect_eq(stage_find_library(&target, tmp_fd), -1, "a FIFO");
	unlink(path);
	cr_assert_eq(symlink(library, path), 0);
	cr_expect_eq(stage_find_library(&target, tmp_fd), -1, "a link to elsewhere");
	unlink(path);
	int held = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
	cr_assert_eq(flock(held, LOCK_SH), 0);
	if (chown(folder, 1234, 1234) == 0)
		cr_expect_eq(stage_find_library(&target, tmp_fd), -1, "a folder of somebody else");
	close(held);
	close(tmp_fd);
}

Test(stage, sweeps_before_it_makes_its_own)
{
	struct stage dead, next;
	char path[1200];
	cr_assert_eq(stage_prepare(&target, library, &dead, NULL), 0);
	flock(dead.dir_fd, LOCK_UN); /* what the kernel does when the agent dies */
	snprintf(path, sizeof path, "%s/%s", tmp, dead.dir_name);
	struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	cr_assert_eq(utimensat(AT_FDCWD, path, long_ago, 0), 0);
	cr_assert_eq(stage_prepare(&target, library, &next, NULL), 0);
	cr_expect_eq(access(path, F_OK), -1, "the dead session's folder is gone");
	cr_expect_eq(entries(tmp), 1, "only its own");
	stage_remove(&next, NULL);
	stage_remove(&dead, NULL);
	cr_expect_eq(entries(tmp), 0);
}

Test(stage, works_in_a_shared_folder)
{
	struct target shared = {.mode = AGENT_MODE_SHARED_TMP, .inner_pid = 1, .tmp_inner = (char *)"/tmp", .shared_folder = (char *)"shop_cart-1"};
	char parent[512], folder[600], outer[600];
	struct stage s;
	struct err e = ERR_INIT;
	fake_path(&proc, parent, "shared");
	snprintf(folder, sizeof folder, "%s/shop_cart-1/app", parent);
	cr_assert_eq(fsio_mkdir_p(folder, 0755, NULL), 0);
	snprintf(outer, sizeof outer, "%s/shop_cart-1", parent);
	shared.tmp_outer = outer;
	cr_assert_eq(stage_prepare(&shared, library, &s, &e), 0, "%s", e.message);
	cr_expect_eq(entries(outer), 2);
	cr_expect_eq(strncmp(s.library_inner, "/tmp/.drdotnet-", 15), 0);
	stage_remove(&s, NULL);
	shared.tmp_outer = folder;
	shared.container_name = (char *)"app";
	cr_assert_eq(stage_prepare(&shared, library, &s, &e), 0, "%s", e.message);
	cr_expect_eq(entries(folder), 1);
	stage_remove(&s, NULL);
	cr_expect_eq(entries(folder), 0);
	/* A link in the place of the pod's folder leads nowhere. */
	cr_assert_eq(rmdir(folder), 0);
	cr_assert_eq(symlink("/tmp", folder), 0);
	cr_expect_eq(stage_prepare(&shared, library, &s, &e), -1);
	cr_expect_str_eq(e.reason, REASON_NoStagingPlace);
	const struct target t = {
		.mode = AGENT_MODE_SHARED_TMP, .tmp_inner = (char *)"/tmp", .tmp_outer = outer, .shared_folder = (char *)"shop_cart-1",
	};
	cr_expect(target_alive(&t));
}

static void rewrite(struct fake_process p)
{
	char exe[512];
	p.pid = target.pid;
	p.inner_pid = 1;
	p.start_time = 77;
	fake_path(&proc, exe, "%d/exe", target.pid);
	unlink(exe);
	fake_process(&proc, &p);
}

static void expect_no(const char *reason, const char *word)
{
	struct err e = ERR_INIT;
	cr_assert_eq(preflight_check(&target, &e), -1, "%s was not noticed", reason);
	cr_assert(e.reason);
	cr_expect_str_eq(e.reason, reason, "%s instead of %s: %s", e.reason, reason, e.message);
	cr_expect(strstr(e.message, word), "'%s' lacks '%s'", e.message, word);
}

Test(preflight, passes_a_healthy_process)
{
	struct err e = ERR_INIT;
	cr_expect_eq(preflight_check(&target, &e), 0, "%s", e.message);
}

#define ENVIRON(s) .environ = s, .environ_len = sizeof s

static const struct {
	struct fake_process process;
	const char *reason, *word;
} bad_processes[] = {
	{{.state = 'T'}, "ProcessStopped", "state T"},
	{{.state = 't', .tracer = 9}, "BeingDebugged", "process 9"},
	{{.tracer = 9}, "BeingDebugged", "process 9"},
	{{.state = 'Z'}, "ProcessExited", "has ended"},
	{{ENVIRON("A=1\0DOTNET_EnableDiagnostics_Profiler=0")}, "DiagnosticsDisabled", "DOTNET_EnableDiagnostics_Profiler"},
	{{ENVIRON("COMPlus_EnableDiagnostics=0")}, "DiagnosticsDisabled", "COMPlus_EnableDiagnostics"},
	{{.maps = "7f00-7f01 r-xp 0 fe:00 1 /usr/lib/libmonosgen-2.0.so\n"}, "UnsupportedRuntime", "Mono"},
};

/* Nothing is said of the process then. */
Test(preflight, knows_its_own_lack_of_descriptors)
{
	struct rlimit before, none;
	struct err e = ERR_INIT;
	int free = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(free);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (int more = 0; more < 2; more++) { /* for the process's folder, but for none of its files */
		none = (struct rlimit){(rlim_t)(free + more), before.rlim_max};
		cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
		int fd = target_open_proc(&target, &e);
		bool alive = target_alive(&target);
		setrlimit(RLIMIT_NOFILE, &before);
		cr_expect(fd == -1 && e.code == EMFILE && !e.reason, "%s", e.message);
		cr_expect(alive);
		e = (struct err)ERR_INIT;
	}
}

Test(preflight, names_what_is_wrong_with_the_process)
{
	for (size_t i = 0; i < sizeof bad_processes / sizeof bad_processes[0]; i++) {
		rewrite(bad_processes[i].process);
		expect_no(bad_processes[i].reason, bad_processes[i].word);
	}
}

static void replace(char **field, const char *value)
{
	free(*field);
	*field = value ? mem_strdup(value) : NULL;
}

Test(preflight, names_what_is_wrong_with_the_runtime)
{
	static const char *const versions[] = {"7.0.20", "6.0.36", "3.1.32"};
	for (size_t i = 0; i < 3; i++) {
		replace(&target.runtime_version, versions[i]);
		expect_no("RuntimeTooOld", versions[i]);
	}
	replace(&target.runtime_version, "8.0.0");
	cr_expect_eq(preflight_check(&target, NULL), 0);
	replace(&target.arch, "s390x");
	expect_no("ArchitectureMismatch", "s390x");
	replace(&target.arch, NULL);
	char comm[64];
	rewrite((struct fake_process){ENVIRON("DOTNET_DefaultDiagnosticPortSuspend=1")});
	snprintf(comm, sizeof comm, "%d/task/1/comm", target.pid);
	fake_text(&proc, comm, ".NET SynchManag\n");
	expect_no("ProcessSuspended", "as DOTNET_DefaultDiagnosticPortSuspend says");
	fake_text(&proc, comm, ".NET Finalizer\n");
	cr_expect_eq(preflight_check(&target, NULL), 0, "it was resumed");
	rewrite((struct fake_process){.uid = 1000});
	replace(&target.socket_path, NULL);
	expect_no("DiagnosticsDisabled", "no diagnostics socket");
}

Test(preflight, bounds_the_path)
{
	for (size_t len = 77; len <= 79; len++) {
		char inner[128] = "/", outer[600];
		memset(inner + 1, 'p', len - 1);
		replace(&target.tmp_inner, inner);
		snprintf(outer, sizeof outer, "%s/root%s", target.proc_dir, inner);
		mkdir(outer, 0755);
		if (len <= 78)
			cr_expect_eq(preflight_check(&target, NULL), 0, "%zu", len);
		else
			expect_no("PathTooLong", "79 bytes");
	}
}

Test(preflight, names_what_is_wrong_with_the_staging_place)
{
	static const struct {
		unsigned long flags;
		const char *options, *word;
	} places[] = {
		{MS_NOEXEC, "size=4m", "mounted noexec"},
		{MS_RDONLY, "size=4m", "read-only"},
		{0, "size=64k", "full"},
		{0, "size=4m,nr_inodes=2", "full"},
	};
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		if (mount("none", tmp, "tmpfs", places[i].flags, places[i].options) < 0)
			cr_skip_test("needs the right to mount");
		expect_no("NoStagingPlace", places[i].word);
		struct stage s;
		struct err e = ERR_INIT;
		if (places[i].flags & MS_RDONLY) {
			cr_expect_eq(stage_prepare(&target, library, &s, &e), -1);
			cr_expect_str_eq(e.reason, REASON_NoStagingPlace);
		}
		cr_assert_eq(umount(tmp), 0);
	}
	cr_assert_eq(rmdir(tmp), 0);
	expect_no("NoStagingPlace", "cannot open");
}

Test(preflight, wants_head_room_under_the_memory_limit)
{
	static const struct {
		long used;
		bool enough;
	} rows[] = {{60 << 20, true}, {60 << 20 | 1, false}, {70 << 20, false}};
	char mounts[700], group[512];
	fake_path(&proc, group, "cg");
	snprintf(mounts, sizeof mounts, "41 31 0:38 / %s rw - cgroup2 cgroup2 rw\n", group);
	fake_text(&proc, "self/mountinfo", mounts);
	fake_text(&proc, "cg/a/memory.max", "67108864\n");
	fake_text(&proc, "cg/a/memory.stat", "inactive_file 0\n");
	rewrite((struct fake_process){.cgroup = "0::/a\n"});
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char used[32];
		snprintf(used, sizeof used, "%ld\n", rows[i].used);
		fake_text(&proc, "cg/a/memory.current", used);
		if (rows[i].enough)
			cr_expect_eq(preflight_check(&target, NULL), 0, "%ld", rows[i].used);
		else
			expect_no("NotEnoughMemory", "limit of 64 MiB");
	}
	fake_text(&proc, "cg/a/memory.current", "1\n");
	fake_text(&proc, "cg/a/cgroup.events", "populated 1\nfrozen 1\n");
	expect_no("ProcessStopped", "frozen");
}

Test(preflight, tells_a_process_that_cannot_run_from_one_that_sleeps)
{
	const char states[] = "RSDTtZ";
	for (size_t i = 0; states[i]; i++) {
		struct target t = target;
		t.pid = fake_process(&proc, &(struct fake_process){.start_time = 77, .state = states[i]});
		t.start_time = 77;
		t.proc_dir = mem_printf("%s/%d", proc.root, t.pid);
		cr_expect_eq(target_stopped(&t), states[i] == 'T' || states[i] == 't', "state %c", states[i]);
		t.start_time = 78; /* another process with its number */
		cr_expect_not(target_stopped(&t), "state %c", states[i]);
		free(t.proc_dir);
	}
}

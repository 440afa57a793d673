#include "agent/diag/diag_env.h"
#include "agent/host/proc.h"
#include "agent/host/runtime_kind.h"
#include "tests/unit/agent/host/fake_proc.h"

#define STAT_TAIL " 1 1 0 -1 4194304 1 0 2 0 11 22 0 0 20 0 9 0 12345 537 63 18446744073709551615 1"

static const struct {
	const char *text;
	int result;
	const char *comm;
	char state;
} stats[] = {
	{"7 (dotnet) S 3" STAT_TAIL, 0, "dotnet", 'S'},
	{"7 (a) R 9 (b)) T 3" STAT_TAIL, 0, "a) R 9 (b)", 'T'},
	{"7 () Z 3" STAT_TAIL, 0, "", 'Z'},
	{"7 (dotnet) S 3 1 1", -1, NULL, 0},
	{"7 (dotnet)S 3" STAT_TAIL, -1, NULL, 0},
	{"7 )dotnet( S 3" STAT_TAIL, -1, NULL, 0},
	{"", -1, NULL, 0},
};

Test(proc, parses_stat)
{
	for (size_t i = 0; i < sizeof stats / sizeof stats[0]; i++) {
		struct proc_stat s;
		int r = proc_parse_stat(stats[i].text, &s);
		cr_expect_eq(r, stats[i].result, "%s", stats[i].text);
		if (r < 0)
			continue;
		cr_expect_str_eq(s.comm, stats[i].comm);
		cr_expect_eq(s.state, stats[i].state);
		cr_expect_eq(s.ppid, 3);
		cr_expect_eq(s.utime_ticks, 11);
		cr_expect_eq(s.stime_ticks, 22);
		cr_expect_eq(s.thread_count, 9);
		cr_expect_eq(s.start_time, 12345);
	}
}

Test(proc, cuts_long_names)
{
	struct proc_stat s;
	char text[400];
	snprintf(text, sizeof text, "7 (%0100d) S 3" STAT_TAIL, 0);
	cr_assert_eq(proc_parse_stat(text, &s), 0);
	cr_expect_eq(strlen(s.comm), sizeof s.comm - 1);
}

#define STATUS(ns) "Name:\tx\nState:\tt (tracing stop)\nPid:\t900\nTracerPid:\t44\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\n" ns

static const struct {
	const char *text;
	int result;
	pid_t inner;
} statuses[] = {
	{STATUS("NSpid:\t900\t12\t1\n"), 0, 1},
	{STATUS("NSpid:\t900\n"), 0, 900},
	{STATUS(""), 0, 900},
	{STATUS("NSpid:\t900\t-1\n"), -1, 0},
	{STATUS("NSpid:\tx\n"), -1, 0},
	{"Name:\tNSpid:\\n1\n" STATUS("NSpid:\t900\t12"), 0, 12},
	{"Name:\tx\n", -1, 0},
	{"", -1, 0},
};

Test(proc, parses_status)
{
	for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
		struct proc_status s;
		int r = proc_parse_status(statuses[i].text, &s);
		cr_expect_eq(r, statuses[i].result, "row %zu", i);
		if (r < 0)
			continue;
		cr_expect_eq(s.inner_pid, statuses[i].inner, "row %zu: %d", i, s.inner_pid);
		cr_expect_eq(s.state, 't');
		cr_expect_eq(s.tracer_pid, 44);
		cr_expect_not(s.is_thread);
		cr_expect_eq(s.uid, 2);
		cr_expect_eq(s.gid, 6);
	}
}

Test(proc, sees_a_core_dump_under_way)
{
	struct proc_status s;
	cr_assert_eq(proc_parse_status(STATUS("NSpid:\t900\nCoreDumping:\t1\n"), &s), 0);
	cr_expect(s.is_dumping);
	cr_assert_eq(proc_parse_status(STATUS("NSpid:\t900\nCoreDumping:\t0\n"), &s), 0);
	cr_expect_not(s.is_dumping);
	cr_assert_eq(proc_parse_status(STATUS("NSpid:\t900\n"), &s), 0);
	cr_expect_not(s.is_dumping);
}

Test(proc, tells_threads_from_processes)
{
	struct proc_status s;
	cr_assert_eq(proc_parse_status("Tgid:\t900\n" STATUS("NSpid:\t900\n"), &s), 0);
	cr_expect_not(s.is_thread);
	cr_assert_eq(proc_parse_status("Tgid:\t899\n" STATUS("NSpid:\t900\n"), &s), 0);
	cr_expect(s.is_thread);
}

static const struct {
	const char *line;
	int result;
	const char *path;
	bool deleted, coreclr;
} maps[] = {
	{"7f00a000-7f00b000 r-xp 00002000 fe:1f 77   /a b/libcoreclr.so", 0, "/a b/libcoreclr.so", false, true},
	{"7f00a000-7f00b000 r-xp 00002000 fe:1f 77   /a/libcoreclr.so (deleted)", 0, "/a/libcoreclr.so", true, true},
	{"7f00a000-7f00b000 r-xp 00002000 fe:1f 77   /a/notlibcoreclr.so", 0, "/a/notlibcoreclr.so", false, false},
	{"7f00a000-7f00b000 r-xp 00002000 fe:1f 77 libcoreclr.so", 0, "libcoreclr.so", false, false},
	{"7f00a000-7f00b000 r-xp 00002000 fe:1f 77", 0, "", false, false},
	{"7f00a000-7f00b000 r-xp 00002000 fe:1f", -1, NULL, false, false},
	{"7f00b000-7f00a000 r-xp 00002000 fe:1f 77", -1, NULL, false, false},
	{"10000000000000000-20000000000000000 r-xp 0 0:0 1", -1, NULL, false, false},
	{"7f00a000 r-xp", -1, NULL, false, false},
	{"-", -1, NULL, false, false},
	{"", -1, NULL, false, false},
};

Test(proc, parses_maps)
{
	for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
		struct proc_map m;
		int r = proc_parse_map_line(maps[i].line, strlen(maps[i].line), &m);
		cr_expect_eq(r, maps[i].result, "%s", maps[i].line);
		if (r < 0)
			continue;
		cr_expect_eq(m.path_len, strlen(maps[i].path));
		cr_expect_arr_eq(m.path, maps[i].path, m.path_len);
		cr_expect_eq(m.deleted, maps[i].deleted);
		cr_expect_eq(proc_map_is(&m, "libcoreclr.so"), maps[i].coreclr, "%s", maps[i].line);
		cr_expect_eq(m.start, 0x7f00a000);
		cr_expect_eq(m.end, 0x7f00b000);
		cr_expect_eq(m.offset, 0x2000);
		cr_expect_eq(m.inode, 77);
		cr_expect_str_eq(m.perms, "r-xp");
	}
}

Test(proc, parses_mounts)
{
	static const char line[] = "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 propagate_from:2 - ext3 /dev/root rw,errors=continue";
	static const char plain[] = "36 35 98:0 / /mnt rw - cgroup cgroup rw,cpu,cpuacct";
	struct proc_mount m;
	cr_assert_eq(proc_parse_mount_line(line, strlen(line), &m), 0);
	cr_expect_str_eq(m.root, "/mnt1");
	cr_expect_str_eq(m.point, "/mnt 2");
	cr_expect_str_eq(m.fs_type, "ext3");
	cr_expect_str_eq(m.super_options, "rw,errors=continue");
	cr_assert_eq(proc_parse_mount_line(plain, strlen(plain), &m), 0);
	cr_expect_str_eq(m.fs_type, "cgroup");
	cr_expect_str_eq(m.super_options, "rw,cpu,cpuacct");
	static const char odd[] = "36 35 98:0 / /m\\0(8 rw - ext3 x rw";
	cr_assert_eq(proc_parse_mount_line(odd, strlen(odd), &m), 0);
	cr_expect_str_eq(m.point, "/m\\0(8", "what is no octal escape stays");
	cr_expect_eq(proc_parse_mount_line("36 35 98:0 /", 12, &m), -1);
	cr_expect_eq(proc_parse_mount_line("", 0, &m), -1);
	char longest[1200];
	int n = snprintf(longest, sizeof longest, "36 35 98:0 / /%0600d rw - ext3 x rw", 0);
	cr_expect_eq(proc_parse_mount_line(longest, (size_t)n, &m), -1);
}

#define BLOCK(s) s, sizeof s

static const struct {
	const char *block;
	size_t len;
	const char *disabled;
	bool suspends;
	const char *tmp;
} environments[] = {
	{BLOCK("A=1"), NULL, false, "/tmp"},
	{BLOCK("TMPDIR=/x/y//"), NULL, false, "/x/y"},
	{BLOCK("TMPDIR=/"), NULL, false, "/"},
	{BLOCK("TMPDIR="), NULL, false, "/tmp"},
	{BLOCK("TMPDIR=relative"), NULL, false, "/tmp"},
	{BLOCK("XTMPDIR=/x"), NULL, false, "/tmp"},
	{"TMPDIR=/cut", 11, NULL, false, "/tmp"},
	{BLOCK("DOTNET_EnableDiagnostics=0"), "DOTNET_EnableDiagnostics", false, "/tmp"},
	{BLOCK("DOTNET_EnableDiagnostics=0x0"), "DOTNET_EnableDiagnostics", false, "/tmp"},
	{BLOCK("DOTNET_EnableDiagnostics=1"), NULL, false, "/tmp"},
	{BLOCK("DOTNET_EnableDiagnostics="), NULL, false, "/tmp"},
	{BLOCK("DOTNET_EnableDiagnostics=no"), NULL, false, "/tmp"},
	{BLOCK("DOTNET_EnableDiagnostics_IPC=0"), "DOTNET_EnableDiagnostics_IPC", false, "/tmp"},
	{BLOCK("DOTNET_EnableDiagnostics_Profiler=0"), "DOTNET_EnableDiagnostics_Profiler", false, "/tmp"},
	{BLOCK("DOTNET_EnableDiagnostics_Debugger=0"), NULL, false, "/tmp"},
	{BLOCK("COMPlus_EnableDiagnostics=0"), "COMPlus_EnableDiagnostics", false, "/tmp"},
	{BLOCK("COMPlus_EnableDiagnostics=0\0DOTNET_EnableDiagnostics=1"), NULL, false, "/tmp"},
	{BLOCK("DOTNET_DefaultDiagnosticPortSuspend=1"), NULL, true, "/tmp"},
	{BLOCK("DOTNET_DefaultDiagnosticPortSuspend=0"), NULL, false, "/tmp"},
	{BLOCK("DOTNET_DiagnosticPorts=/s,nosuspend"), NULL, false, "/tmp"},
	{BLOCK("DOTNET_DiagnosticPorts=/s,nosuspend;/t"), NULL, true, "/tmp"},
	{BLOCK("DOTNET_DiagnosticPorts=/s"), NULL, true, "/tmp"},
};

Test(proc, knows_a_profiler_that_starts_with_the_process)
{
	static const struct {
		const char *block;
		size_t len;
		bool profiled;
	} rows[] = {
		{BLOCK("A=1"), false}, {BLOCK("CORECLR_ENABLE_PROFILING=1"), true}, {BLOCK("A=\0CORECLR_ENABLE_PROFILING=0x1"), true},
		{BLOCK("CORECLR_ENABLE_PROFILING=0"), false}, {BLOCK("CORECLR_ENABLE_PROFILING="), false}, {BLOCK("CORECLR_ENABLE_PROFILING=x"), false},
		{BLOCK("XCORECLR_ENABLE_PROFILING=1"), false}, {"", 0, false}, {BLOCK("CORECLR_ENABLE_NOTIFICATION_PROFILERS=1"), true},
		{BLOCK("CORECLR_ENABLE_NOTIFICATION_PROFILERS=0\0CORECLR_NOTIFICATION_PROFILERS=/a={b};"), false},
		{BLOCK("CORECLR_ENABLE_PROFILING=0\0CORECLR_ENABLE_NOTIFICATION_PROFILERS=1"), true},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		cr_expect_eq(diag_env_profiled(rows[i].block, rows[i].len), rows[i].profiled, "row %zu", i);
}

Test(proc, reads_environments)
{
	for (size_t i = 0; i < sizeof environments / sizeof environments[0]; i++) {
		char tmp[64];
		const char *block = environments[i].block;
		size_t len = environments[i].len;
		const char *disabled = diag_env_disabled(block, len);
		cr_expect_str_eq(disabled ? disabled : "none", environments[i].disabled ? environments[i].disabled : "none", "%s", block);
		cr_expect_eq(diag_env_suspends(block, len) != NULL, environments[i].suspends, "%s", block);
		cr_assert_eq(diag_env_tmpdir(block, len, tmp, sizeof tmp), 0);
		cr_expect_str_eq(tmp, environments[i].tmp, "%s gave %s", block, tmp);
	}
	char out[8];
	cr_expect_eq(diag_env_tmpdir(BLOCK("TMPDIR=/123456"), out, sizeof out), 0);
	cr_expect_eq(diag_env_tmpdir(BLOCK("TMPDIR=/1234567"), out, sizeof out), -1);
}

Test(proc, reads_itself)
{
	AUTO_FD int fd = proc_open("/proc", getpid());
	struct proc_stat stat;
	struct proc_status status;
	AUTO_BUF struct buf environ = {0};
	char command[64];
	cr_assert_geq(fd, 0);
	cr_assert_eq(proc_read_stat(fd, &stat), 0);
	cr_assert_eq(proc_read_status(fd, &status), 0);
	cr_expect_eq(stat.ppid, getppid());
	cr_expect_eq(status.inner_pid, getpid());
	cr_expect_eq(status.uid, geteuid());
	cr_expect_eq(proc_read_environ(fd, &environ), 0);
	cr_expect_geq(proc_read_cmdline(fd, command, sizeof command), 0);
	cr_expect_eq(runtime_kind_of(fd), RUNTIME_NONE);
	cr_expect_eq(proc_open("/proc", 0x7ffffff), -1);
}

Test(proc, reads_long_lines_cut)
{
	struct fake_proc f;
	fake_proc_init(&f);
	char text[3 * PROC_MAP_LINE_MAX + 64], path[512];
	memset(text, 'x', sizeof text);
	memcpy(text, "first\n", 6);
	strcpy(text + sizeof text - 8, "\nlast");
	fake_text(&f, "lines", text);
	fake_path(&f, path, "lines");
	struct proc_lines l;
	cr_assert_eq(proc_lines_open(&l, AT_FDCWD, path), 0);
	const char *line;
	size_t len;
	cr_assert(proc_lines_next(&l, &line, &len));
	cr_expect_eq(len, 5);
	cr_assert(proc_lines_next(&l, &line, &len));
	cr_expect_eq(len, PROC_MAP_LINE_MAX, "the cut line comes once");
	cr_assert(proc_lines_next(&l, &line, &len));
	cr_expect_eq(len, 4);
	cr_expect_arr_eq(line, "last", 4);
	cr_expect_not(proc_lines_next(&l, &line, &len));
	proc_lines_close(&l);
	fake_proc_fini(&f);
}

Test(proc, tells_of_threads_and_age)
{
	char name[32] = "";
	FILE *f = fopen("/proc/self/comm", "re");
	cr_assert(f && fgets(name, sizeof name, f));
	fclose(f);
	name[strcspn(name, "\n")] = '\0';
	int fd = proc_open("/proc", getpid());
	cr_expect_geq(proc_count_threads(fd, name), 1, "a sanitizer may have some of its own");
	cr_expect_eq(proc_count_threads(fd, ".NET Server GC"), 0);
	cr_expect_eq(proc_count_threads(-1, name), -1);
	cr_expect_geq(proc_uptime_ms(fd), 0);
	cr_expect_eq(proc_uptime_ms(-1), -1);
	close(fd);
}

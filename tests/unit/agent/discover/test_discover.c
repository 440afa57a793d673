#include "agent/discover/discover.h"
#include "agent/target/target.h"
#include "common/api/reason.h"
#include "common/base/clock.h"
#include "tests/unit/agent/host/fake_proc.h"

#define POD_A "11111111-2222-3333-4444-555555555555"
#define POD_B "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define CGROUP_A "0::/kubepods/burstable/pod" POD_A "/" ID_A "\n"
#define CGROUP_B "0::/kubepods/burstable/pod" POD_B "/" ID_B "\n"
#define ENVIRON(s) .environ = s, .environ_len = sizeof s

static struct fake_proc proc;
static struct target_list list;

static void setup(void)
{
	fake_proc_init(&proc);
	memset(&list, 0, sizeof list);
}

static void teardown(void)
{
	target_list_fini(&list);
	fake_proc_fini(&proc);
}

TestSuite(discover, .init = setup, .fini = teardown, .timeout = 30);

static struct discover_options options(void)
{
	return (struct discover_options){
		.mode = AGENT_MODE_HOST_PID, .proc_root = proc.root, .query_runtime = true, .deadline_ms = clock_mono_ms() + 10000};
}

static void discover(const struct discover_options *o)
{
	struct err e = ERR_INIT;
	target_list_fini(&list);
	cr_assert_eq(discover_targets(o, &list, &e), 0, "%s", e.message);
}

/* A process with a server at the place where its runtime would have its socket. */
static pid_t runtime(struct fake_process p, enum fake_behaviour how, const char *folder)
{
	char path[512];
	struct fake_server s = fake_server(&proc, how, p.inner_pid);
	p.pid = s.pid;
	p.tmp = folder;
	fake_process(&proc, &p);
	snprintf(path, sizeof path, "%s/dotnet-diagnostic-%d-%llu-socket", folder, p.inner_pid ? p.inner_pid : s.pid,
		 (unsigned long long)p.start_time);
	fake_serve(&proc, &s, path);
	return s.pid;
}

static const struct target *only(void)
{
	cr_assert_eq(list.count, 1, "%zu processes were found", list.count);
	return &list.items[0];
}

static void expect_refused(const struct target *t, const char *reason, const char *word)
{
	cr_expect_not(t->profilable);
	cr_assert(t->reason, "no reason; message %s", t->message ? t->message : "none");
	cr_expect_str_eq(t->reason, reason, "%s instead of %s: %s", t->reason, reason, t->message);
	cr_expect(strstr(t->message, word), "'%s' lacks '%s'", t->message, word);
}

Test(discover, describes_a_process)
{
	pid_t pid = runtime((struct fake_process){.inner_pid = 1, .start_time = 500, .uid = 10001, .cgroup = CGROUP_A}, FAKE_ANSWERS, "/tmp");
	struct discover_options o = options();
	discover(&o);
	const struct target *t = only();
	cr_expect_eq(t->pid, pid);
	cr_expect_eq(t->inner_pid, 1);
	cr_expect_eq(t->start_time, 500);
	cr_expect_eq(t->uid, 10001);
	cr_expect_eq(t->gid, 8);
	cr_expect_str_eq(t->pod_uid, POD_A);
	cr_expect_str_eq(t->container_id, ID_A);
	cr_expect_str_eq(t->socket_path, "/tmp/dotnet-diagnostic-1-500-socket");
	cr_expect_str_eq(t->tmp_inner, "/tmp");
	cr_expect_str_eq(t->entrypoint, "Shop");
	cr_expect_str_eq(t->runtime_version, "10.0.12");
	cr_expect_str_eq(t->os, "linux");
	cr_expect_str_eq(t->rid, "linux-x64");
	cr_expect_str_eq(t->command_line, "dotnet /app/Shop.dll");
	cr_expect(t->profilable, "%s", t->message ? t->message : "");
	cr_expect(target_alive(t));
}

Test(discover, finds_nothing_where_nothing_is_dotnet)
{
	fake_process(&proc, &(struct fake_process){.maps = "", .start_time = 1});
	fake_process(&proc, &(struct fake_process){.threads = 1, .start_time = 2});
	fake_process(&proc, &(struct fake_process){.state = 'Z', .start_time = 3});
	fake_text(&proc, "self/note", "not a number");
	struct discover_options o = options();
	discover(&o);
	cr_expect_eq(list.count, 0);
}

Test(discover, tells_two_pods_with_pid_1_apart)
{
	runtime((struct fake_process){.inner_pid = 1, .start_time = 700, .cgroup = CGROUP_B}, FAKE_ANSWERS, "/tmp");
	pid_t a = runtime((struct fake_process){.inner_pid = 1, .start_time = 600, .cgroup = CGROUP_A}, FAKE_ANSWERS, "/tmp");
	struct discover_options o = options();
	discover(&o);
	cr_assert_eq(list.count, 2);
	cr_expect_eq(list.items[0].pid, a, "the older process comes first");
	o.pod_uid = POD_A;
	discover(&o);
	cr_expect_eq(only()->pid, a);
	o = options();
	o.container_ids = (const char *const[]){"other", ID_A};
	o.container_id_count = 2;
	discover(&o);
	cr_expect_eq(only()->pid, a);
}

Test(discover, tells_a_pod_in_a_sandbox_from_one_without_dotnet)
{
	char path[64];
	pid_t sentry = fake_process(&proc, &(struct fake_process){.threads = 1, .maps = "", .cgroup = CGROUP_A});
	struct discover_options o = options();
	o.pod_uid = POD_A;
	o.container_ids = (const char *const[]){ID_B}; /* the sandbox runs in a group of its own */
	o.container_id_count = 1;
	discover(&o);
	cr_expect_eq(list.count, 0);
	snprintf(path, sizeof path, "%d/cmdline", sentry);
	fake_write(&proc, path, "runsc-sandbox\0--root=/run", 26);
	discover(&o);
	expect_refused(only(), REASON_UnsupportedRuntime, "gVisor");
	struct err e = ERR_INIT;
	cr_expect_eq(target_choose(&list, ID_B, NULL, 0, &e), -1);
	cr_expect_str_eq(e.reason, REASON_UnsupportedRuntime);
	cr_expect_str_eq(e.message, "the pod runs in gVisor: its processes are not the node's");
	o.pod_uid = POD_B;
	discover(&o);
	cr_expect_eq(list.count, 0, "another pod's sandbox says nothing");
	/* Who only calls itself so does not hide a .NET process. */
	pid_t app = runtime((struct fake_process){.inner_pid = 1, .start_time = 600, .cgroup = CGROUP_A}, FAKE_ANSWERS, "/tmp");
	o = options();
	o.pod_uid = POD_A;
	discover(&o);
	cr_expect_eq(only()->pid, app);
}

Test(discover, tells_several_processes_and_containers_of_a_pod_apart)
{
	static const char same_pod_b[] = "0::/kubepods/burstable/pod" POD_A "/" ID_B "\n";
	pid_t first = runtime((struct fake_process){.inner_pid = 1, .start_time = 1, .cgroup = CGROUP_A}, FAKE_ANSWERS, "/tmp");
	pid_t second = runtime((struct fake_process){.inner_pid = 17, .start_time = 2, .cgroup = CGROUP_A}, FAKE_ANSWERS, "/tmp");
	pid_t other = runtime((struct fake_process){.inner_pid = 1, .start_time = 3, .cgroup = same_pod_b}, FAKE_ANSWERS, "/tmp");
	struct discover_options o = options();
	o.pod_uid = POD_A;
	discover(&o);
	cr_assert_eq(list.count, 3);
	cr_expect_eq(list.items[0].pid, first);
	cr_expect_eq(list.items[1].pid, second);
	cr_expect_eq(list.items[1].inner_pid, 17);
	cr_expect_eq(list.items[2].pid, other);
	cr_expect_str_eq(list.items[2].container_id, ID_B);
}

Test(discover, is_not_led_by_a_stale_socket)
{
	char path[512];
	pid_t pid = runtime((struct fake_process){.inner_pid = 1, .start_time = 900}, FAKE_ANSWERS, "/tmp");
	fake_path(&proc, path, "%d/root/tmp/dotnet-diagnostic-1-950-socket", pid);
	close(fake_listen(path)); /* its process has ended */
	struct discover_options o = options();
	discover(&o);
	cr_expect_str_eq(only()->socket_path, "/tmp/dotnet-diagnostic-1-900-socket");
	cr_expect(only()->profilable);
}

Test(discover, finds_the_listening_socket_when_the_start_time_differs)
{
	char path[512];
	struct fake_server s = fake_server(&proc, FAKE_ANSWERS, 1);
	fake_process(&proc, &(struct fake_process){.pid = s.pid, .inner_pid = 1, .start_time = 900});
	fake_path(&proc, path, "%d/root/tmp/dotnet-diagnostic-1-999-socket", s.pid);
	close(fake_listen(path));
	fake_serve(&proc, &s, "/tmp/dotnet-diagnostic-1-555-socket");
	struct discover_options o = options();
	discover(&o);
	cr_expect_str_eq(only()->socket_path, "/tmp/dotnet-diagnostic-1-555-socket");
	cr_expect(only()->profilable, "%s", only()->message ? only()->message : "");
}

/* A runtime waits for the question on each connection, and answers nobody else meanwhile. */
Test(discover, asks_as_soon_as_it_is_connected)
{
	char path[512], question[64];
	struct candidate_list found = {0};
	struct err e = ERR_INIT;
	fake_process(&proc, &(struct fake_process){.pid = getpid(), .inner_pid = 1, .start_time = 900});
	fake_path(&proc, path, "%d/root/tmp/dotnet-diagnostic-1-900-socket", getpid());
	int listening = fake_listen(path);
	cr_assert_eq(listen(listening, 1), 0);
	struct discover_options o = options();
	cr_assert_eq(discover_host(&o, &found, &e), 0, "%s", e.message);
	cr_assert_eq(found.count, 1);
	int runtime_end = accept(listening, NULL, NULL);
	cr_expect_eq(recv(runtime_end, question, sizeof question, MSG_DONTWAIT), DIAG_HEADER_SIZE);
	close(runtime_end);
	close(listening);
	candidate_list_fini(&found);
}

Test(discover, is_not_led_to_another_process)
{
	/* Another process listens under the very name: a hostile neighbour that shares the folder. */
	char path[512];
	struct fake_server neighbour = fake_server(&proc, FAKE_ANSWERS, 1);
	pid_t pid = fake_process(&proc, &(struct fake_process){.inner_pid = 1, .start_time = 900});
	fake_path(&proc, path, "%d/root/tmp/dotnet-diagnostic-1-900-socket", pid);
	fake_serve_at(&neighbour, path);
	struct discover_options o = options();
	discover(&o);
	cr_expect_eq(only()->pid, pid);
	expect_refused(only(), REASON_DiagnosticsDisabled, "no diagnostics socket");
	cr_expect_null(only()->socket_path);
}

Test(discover, follows_tmpdir_inside_the_containers_root_only)
{
	pid_t pid = runtime((struct fake_process){.inner_pid = 1, .start_time = 5, ENVIRON("X=1\0TMPDIR=/var/scratch/")}, FAKE_ANSWERS,
			    "/var/scratch");
	struct discover_options o = options();
	discover(&o);
	cr_expect_str_eq(only()->tmp_inner, "/var/scratch");
	cr_expect_str_eq(only()->socket_path, "/var/scratch/dotnet-diagnostic-1-5-socket");
	cr_expect(only()->profilable, "%s", only()->message ? only()->message : "");

	/* A link in the container leads to the container's own folder, not to the node's. */
	char link[512], real[512];
	fake_path(&proc, link, "%d/root/var/scratch", pid);
	fake_path(&proc, real, "%d/root/private", pid);
	cr_assert_eq(rename(link, real), 0);
	cr_assert_eq(symlink("/private", link), 0);
	discover(&o);
	cr_expect(only()->profilable, "%s", only()->message ? only()->message : "");
	cr_expect_str_eq(only()->tmp_inner, "/var/scratch");
}

Test(discover, cannot_be_led_out_of_the_containers_root)
{
	/* The node's own folder with a live socket of the right name, reached by /.. or a link. */
	char outside[64] = "/tmp/fakeout-XXXXXX", path[512], environ[256], tmp[512];
	cr_assert(mkdtemp(outside));
	struct fake_server s = fake_server(&proc, FAKE_ANSWERS, 1);
	int n = snprintf(environ, sizeof environ, "TMPDIR=/../../../../../..%s", outside);
	fake_process(&proc, &(struct fake_process){.pid = s.pid, .inner_pid = 1, .start_time = 5, .environ = environ,
						   .environ_len = (size_t)n + 1, .tmp = "/etc"});
	snprintf(path, sizeof path, "%s/dotnet-diagnostic-1-5-socket", outside);
	fake_serve_at(&s, path);
	struct discover_options o = options();
	discover(&o);
	expect_refused(only(), REASON_NoStagingPlace, "cannot be opened");
	fake_path(&proc, tmp, "%d/root/up", s.pid);
	cr_assert_eq(symlink("/proc/self/root/tmp", tmp), 0);
	unlink(path);
	rmdir(outside);
}

Test(discover, is_not_led_by_links_fifos_and_files)
{
	static const char *const kinds[] = {"link", "fifo", "file", "folder"};
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		char path[512], real[512];
		struct fake_server s = fake_server(&proc, FAKE_ANSWERS, 1);
		fake_process(&proc, &(struct fake_process){.pid = s.pid, .inner_pid = 1, .start_time = 900});
		fake_path(&proc, path, "%d/root/tmp/dotnet-diagnostic-1-900-socket", s.pid);
		fake_path(&proc, real, "%d/root/tmp/elsewhere", s.pid);
		fake_serve_at(&s, real);
		int made = i == 0   ? symlink("elsewhere", path)
			   : i == 1 ? mkfifo(path, 0666)
			   : i == 2 ? mknod(path, S_IFREG | 0666, 0)
				    : mkdir(path, 0777);
		cr_assert_eq(made, 0);
		struct discover_options o = options();
		o.pid = s.pid;
		discover(&o);
		expect_refused(only(), REASON_DiagnosticsDisabled, kinds[i][0] ? "no diagnostics socket" : "");
	}
}

Test(discover, refuses_a_socket_of_another_user)
{
	pid_t pid = runtime((struct fake_process){.inner_pid = 1, .start_time = 5, .uid = 1000}, FAKE_ANSWERS, "/tmp");
	char path[512];
	fake_path(&proc, path, "%d/root/tmp/dotnet-diagnostic-1-5-socket", pid);
	if (chown(path, 2000, 2000) < 0)
		cr_skip_test("needs root");
	struct discover_options o = options();
	discover(&o);
	expect_refused(only(), REASON_DiagnosticsDisabled, "no diagnostics socket");
	cr_assert_eq(chown(path, 1000, 1000), 0);
	discover(&o);
	cr_expect(only()->profilable, "%s", only()->message ? only()->message : "");
}

Test(discover, reaches_long_paths)
{
	char folder[200] = "/";
	memset(folder + 1, 'd', 150);
	char environ[256];
	int n = snprintf(environ, sizeof environ, "TMPDIR=%s", folder);
	runtime((struct fake_process){.inner_pid = 1, .start_time = 5, .environ = environ, .environ_len = (size_t)n + 1}, FAKE_ANSWERS, folder);
	struct discover_options o = options();
	discover(&o);
	cr_expect_str_eq(only()->runtime_version, "10.0.12", "the runtime was reached through 151 bytes of folder");
	expect_refused(only(), REASON_PathTooLong, "151 bytes");
}

Test(discover, says_when_the_runtimes_own_socket_has_no_room_for_its_name)
{
	/* "/dotnet-diagnostic-1-5-socket" has 29 bytes, a socket's path at most 107. */
	char folder[80] = "/", environ[100];
	struct discover_options o = options();
	memset(folder + 1, 'd', 77);
	for (size_t len = 78; len <= 79; len++) {
		folder[len - 1] = 'd';
		int n = snprintf(environ, sizeof environ, "TMPDIR=%s", folder);
		o.pid = fake_process(&proc, &(struct fake_process){.inner_pid = 1, .start_time = 5, .tmp = folder, .environ = environ,
								  .environ_len = (size_t)n + 1});
		discover(&o);
		if (len == 78)
			expect_refused(only(), REASON_DiagnosticsDisabled, "no diagnostics socket");
		else
			expect_refused(only(), REASON_PathTooLong, "79 bytes");
	}
}

static const struct {
	enum fake_behaviour how;
	const char *reason, *word;
} strange[] = {
	{FAKE_SILENT, "AttachFailed", "does not answer"},
	{FAKE_CLOSES, "AttachFailed", "closed"},
	{FAKE_GARBAGE, "AttachFailed", "magic"},
	{FAKE_HUGE, "AttachFailed", "does not answer"},
	{FAKE_SHORT, "AttachFailed", "ends early"},
	{FAKE_ENDLESS_COUNT, "AttachFailed", "ends early"},
	{FAKE_OTHER_PID, "AttachFailed", "answers for process"},
	{FAKE_REFUSES, "AttachFailed", "0x80004005"},
	{FAKE_OLD_RUNTIME, "RuntimeTooOld", "6.0.36"},
	{FAKE_NEVER_ACCEPTS, "AttachFailed", "does not answer"},
	{FAKE_TRICKLES, NULL, NULL},
	{FAKE_ANSWERS, NULL, NULL},
};

Test(discover, survives_every_kind_of_server_at_once)
{
	size_t count = sizeof strange / sizeof strange[0];
	for (size_t i = 0; i < count; i++)
		runtime((struct fake_process){.inner_pid = 1, .start_time = 10 + i}, strange[i].how, "/tmp");
	struct discover_options o = options();
	int64_t began = clock_mono_ms();
	discover(&o);
	cr_expect_lt(clock_mono_ms() - began, 4000, "silent processes cost one waiting time together, not one each");
	cr_assert_eq(list.count, count);
	for (size_t i = 0; i < count; i++) {
		const struct target *t = &list.items[i];
		cr_expect_eq(t->start_time, 10 + i);
		if (strange[i].reason)
			expect_refused(t, strange[i].reason, strange[i].word);
		else
			cr_expect(t->profilable, "row %zu: %s", i, t->message ? t->message : "");
	}
}

Test(discover, keeps_its_deadline)
{
	runtime((struct fake_process){.inner_pid = 1, .start_time = 1}, FAKE_SILENT, "/tmp");
	struct discover_options o = options();
	int64_t began = clock_mono_ms();
	o.deadline_ms = began + 200;
	discover(&o);
	cr_expect_lt(clock_mono_ms() - began, 1000);
	expect_refused(only(), REASON_AttachFailed, "does not answer");
	o = options();
	o.answer_ms = 50;
	began = clock_mono_ms();
	discover(&o);
	cr_expect_lt(clock_mono_ms() - began, 1000);
	expect_refused(only(), REASON_AttachFailed, "does not answer");
}

static const struct {
	const char *what;
	struct fake_process process;
	const char *reason, *word;
} without_socket[] = {
	{"switched off", {ENVIRON("DOTNET_EnableDiagnostics=0")}, "DiagnosticsDisabled", "DOTNET_EnableDiagnostics=0 switches"},
	{"port switched off", {ENVIRON("COMPlus_EnableDiagnostics_IPC=0")}, "DiagnosticsDisabled", "COMPlus_EnableDiagnostics_IPC"},
	{"no folder", {.tmp = ""}, "NoStagingPlace", "/tmp cannot be opened"},
	{"unknown cause", {.uid = 0}, "DiagnosticsDisabled", "no diagnostics socket in /tmp"},
	{"stopped", {.state = 'T'}, "ProcessStopped", "state T"},
	{"traced", {.tracer = 7}, "BeingDebugged", "process 7"},
	{"Mono", {.maps = "7f00-7f01 r-xp 0 fe:00 1 /usr/lib/libmonosgen-2.0.so\n"}, "UnsupportedRuntime", "Mono"},
};

/* /proc has its processes in order. */
Test(discover, goes_on_where_it_ran_out_of_time)
{
	pid_t pid = runtime((struct fake_process){.inner_pid = 1, .start_time = 500, .uid = 10001, .cgroup = CGROUP_A}, FAKE_ANSWERS, "/tmp");
	struct discover_options o = options();
	o.deadline_ms = clock_mono_ms();
	discover(&o);
	cr_expect_eq(list.count, 0);
	cr_expect_eq(list.next_pid, pid);
	o = options();
	o.from_pid = list.next_pid;
	discover(&o);
	cr_expect_eq(only()->pid, pid);
	cr_expect_eq(list.next_pid, 0, "it was whole");
	o.from_pid = pid + 1;
	discover(&o);
	cr_expect_eq(list.count, 0);
}

Test(discover, says_why_a_process_has_no_socket)
{
	for (size_t i = 0; i < sizeof without_socket / sizeof without_socket[0]; i++) {
		struct discover_options o = options();
		o.pid = fake_process(&proc, &without_socket[i].process);
		discover(&o);
		cr_assert_eq(list.count, 1, "%s", without_socket[i].what);
		expect_refused(only(), without_socket[i].reason, without_socket[i].word);
	}
}

Test(discover, says_when_the_folder_is_not_the_users)
{
	char path[512];
	pid_t pid = fake_process(&proc, &(struct fake_process){.uid = 1000});
	fake_path(&proc, path, "%d/root/tmp", pid);
	cr_assert_eq(chmod(path, 0755), 0);
	struct discover_options o = options();
	discover(&o);
	expect_refused(only(), REASON_NoStagingPlace, "not writable for uid 1000");
}

Test(discover, does_not_ask_stopped_processes)
{
	runtime((struct fake_process){.inner_pid = 1, .start_time = 1, .state = 'T'}, FAKE_SILENT, "/tmp");
	struct discover_options o = options();
	int64_t began = clock_mono_ms();
	discover(&o);
	cr_expect_lt(clock_mono_ms() - began, 500);
	expect_refused(only(), REASON_ProcessStopped, "state T");
}

Test(discover, does_not_ask_unless_told)
{
	runtime((struct fake_process){.inner_pid = 1, .start_time = 1}, FAKE_SILENT, "/tmp");
	struct discover_options o = options();
	o.query_runtime = false;
	discover(&o);
	cr_expect_null(only()->runtime_version);
	cr_expect_null(only()->reason);
	cr_expect_not(only()->profilable);
	cr_expect_str_eq(only()->command_line, "dotnet /app/\\x1b[31mShop.dll");
}

Test(discover, notices_a_reused_pid)
{
	pid_t pid = runtime((struct fake_process){.inner_pid = 1, .start_time = 1}, FAKE_ANSWERS, "/tmp");
	struct discover_options o = options();
	discover(&o);
	cr_expect(target_alive(only()));
	char path[64];
	snprintf(path, sizeof path, "%d/stat", pid);
	fake_text(&proc, path, "1 (x) S 1 1 1 0 -1 4194304 1 0 2 0 11 22 0 0 20 0 9 0 2 537 63 1 1 1\n");
	cr_expect_not(target_alive(only()));
}

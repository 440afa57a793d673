/* Discovery over /proc of all processes. Most of them are not .NET: each costs a few small reads. The socket's name holds
 * the inner pid and the start time, so that one look for that very name settles the usual case without listing a folder. */
#include "agent/target/apart.h"
#include "agent/host/cgroup.h"
#include "agent/diag/diag_env.h"
#include "agent/diag/diag_exchange.h"
#include "agent/diag/diag_socket.h"
#include "agent/discover/discover.h"
#include "agent/host/proc.h"
#include "agent/host/process_state.h"
#include "agent/host/rights.h"
#include "agent/host/runtime_kind.h"
#include "agent/host/sandbox_kind.h"
#include "agent/target/target_fs.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>

#define CGROUP_TEXT_MAX 16384

/* What is known of one process while it is looked at. Owns all of it: the look may outlive its caller (agent/target/apart.h). */
struct look {
	char *root;            /* "/proc" */
	bool filtered;         /* the process is one of those asked for */
	int64_t deadline_ms;
	pid_t pid;
	int proc_fd;
	struct proc_stat stat;
	struct proc_status status;
	struct cgroup_identity group;
	struct buf environ;
	char tmp_inner[PATH_MAX];
	int tmp_fd;       /* -1: none */
	int tmp_errno;    /* why not */
	bool denied;      /* the agent may not look into the process */
	bool is_dotnet;
	bool hidden;      /* it is .NET, and denied */
	struct candidate found;
};

static bool is_filtered(const struct discover_options *o)
{
	return o->pid != 0 || o->pod_uid || o->container_ids;
}

static bool pod_filter_passes(const struct discover_options *o, const struct cgroup_identity *id)
{
	if (o->pod_uid && strcmp(o->pod_uid, id->pod_uid) != 0)
		return false;
	if (!o->container_ids)
		return true;
	for (size_t i = 0; i < o->container_id_count; i++) {
		if (strcmp(o->container_ids[i], id->container_id) == 0)
			return true;
	}
	return false;
}

/* The cheap part that rules out most processes: group, kernel threads, zombies, single-threaded programs. */
static bool may_be_dotnet(struct look *k, const struct discover_options *o)
{
	char text[CGROUP_TEXT_MAX], exe[PATH_MAX];
	if (fsio_read_small(k->proc_fd, "cgroup", text, sizeof text) >= 0)
		cgroup_parse_identity(text, &k->group);
	if (!pod_filter_passes(o, &k->group))
		return false;
	if (proc_read_stat(k->proc_fd, &k->stat) < 0 || k->stat.state == 'Z' || k->stat.state == 'X' || k->stat.thread_count < 2)
		return false;
	if (readlinkat(k->proc_fd, "exe", exe, sizeof exe) < 0) {
		k->denied = errno == EACCES || errno == EPERM;
		if (!k->denied)
			return false;
	}
	return proc_read_status(k->proc_fd, &k->status) == 0 && !k->status.is_thread;
}

static void open_process_tmp(struct look *k)
{
	k->tmp_fd = -1;
	if (diag_env_tmpdir(k->environ.data, k->environ.len, k->tmp_inner, sizeof k->tmp_inner) < 0) {
		k->tmp_errno = ENAMETOOLONG;
		return;
	}
	AUTO_FD int root = openat(k->proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root >= 0)
		k->tmp_fd = target_fs_open_in_root(root, k->tmp_inner, O_RDONLY | O_DIRECTORY);
	k->tmp_errno = k->tmp_fd < 0 ? errno : 0;
}

/* Who it is, as the kernel says. */
static void fill_identity(const struct look *k, struct target *t)
{
	t->mode = AGENT_MODE_HOST_PID;
	t->pid = k->pid;
	t->start_time = k->stat.start_time;
	t->inner_pid = k->status.inner_pid;
	t->uid = k->status.uid;
	t->gid = k->status.gid;
	t->pod_uid = k->group.pod_uid[0] ? mem_strdup(k->group.pod_uid) : NULL;
	t->container_id = k->group.container_id[0] ? mem_strdup(k->group.container_id) : NULL;
	t->proc_dir = mem_printf("%s/%d", k->root, (int)k->pid);
}

static void fill_host_target(const struct look *k, struct target *t)
{
	char cmdline[257], command[PATH_MAX];
	fill_identity(k, t);
	if (k->tmp_fd >= 0) {
		t->tmp_inner = mem_strdup(k->tmp_inner);
		t->tmp_outer = mem_printf("%s/root%s", t->proc_dir, k->tmp_inner);
	}
	if (proc_read_cmdline(k->proc_fd, cmdline, sizeof cmdline) < 0)
		return;
	AUTO_BUF struct buf text;
	buf_init(&text, sizeof command);
	text_append_printable(&text, cmdline, strlen(cmdline));
	t->command_line = mem_strndup(buf_str(&text), text_cut_utf8(buf_str(&text), 256));
}

static int connect_to(const struct look *k, const char *name, struct err *e)
{
	/* Who looks at all processes does not wait for one that accepts nothing. */
	int64_t until = clock_mono_ms() + (k->filtered ? DISCOVER_CONNECT_MS : 0);
	if (k->deadline_ms > 0 && until > k->deadline_ms)
		until = k->deadline_ms;
	int fd = diag_socket_connect(k->tmp_fd, name, k->status.uid, k->pid, until, e);
	if (fd >= 0)
		diag_exchange_ask(fd, DISCOVER_QUESTION);
	return fd;
}

static void set_socket(const struct look *k, struct candidate *c, const char *name)
{
	c->target.socket_path = mem_printf("%s/%s", strcmp(k->tmp_inner, "/") == 0 ? "" : k->tmp_inner, name);
}

/* A stopped or frozen process accepts connections (the kernel does) and never answers: it is not asked. */
static bool refuse_stopped(const struct look *k, struct target *t)
{
	struct err e = ERR_INIT;
	if (process_state_check(k->root, k->pid, &k->status, &e) < 0)
		discover_refuse(t, e.reason, "%s", e.message);
	return t->reason != NULL;
}

/* The usual case: the socket of the very name that this process gives it. */
static bool find_exact_socket(const struct look *k, struct candidate *c)
{
	char name[64];
	struct stat st;
	snprintf(name, sizeof name, "dotnet-diagnostic-%d-%llu-socket", (int)k->status.inner_pid,
		 (unsigned long long)k->stat.start_time);
	if (k->tmp_fd < 0 || fstatat(k->tmp_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISSOCK(st.st_mode))
		return false;
	set_socket(k, c, name);
	if (refuse_stopped(k, &c->target))
		return true;
	struct err e = ERR_INIT;
	c->fd = connect_to(k, name, &e);
	if (c->fd >= 0)
		return true;
	if (e.kind == ERR_PROTOCOL || e.kind == ERR_GONE) { /* somebody else's, or stale: not this process's */
		free(c->target.socket_path);
		c->target.socket_path = NULL;
		return false;
	}
	discover_refuse(&c->target, e.reason ? e.reason : REASON_AttachFailed, "%s", e.message);
	return true;
}

/* Where the start time in the name differs (a time namespace, a sandbox): the socket that this process listens on. */
static bool find_listed_socket(const struct look *k, struct candidate *c)
{
	AUTO_FREE struct socket_file *files = mem_calloc(DISCOVER_MAX_SOCKETS, sizeof *files);
	size_t count = k->tmp_fd < 0 ? 0 : discover_list_sockets(k->tmp_fd, k->status.inner_pid, files);
	for (size_t i = 0; i < count && c->fd < 0; i++) {
		c->fd = connect_to(k, files[i].name, NULL);
		if (c->fd >= 0)
			set_socket(k, c, files[i].name);
	}
	return c->fd >= 0;
}

static bool writable_by(const struct stat *st, uid_t uid, gid_t gid)
{
	return uid == 0 || st->st_mode & S_IWOTH || (st->st_uid == uid && st->st_mode & S_IWUSR) ||
	       (st->st_gid == gid && st->st_mode & S_IWGRP);
}

/* Whether the runtime could give its socket a name at all in this folder. */
static bool too_long_for_socket(const struct look *k)
{
	char path[PATH_MAX + 64];
	int n = snprintf(path, sizeof path, "%s/dotnet-diagnostic-%d-%llu-socket", k->tmp_inner, (int)k->status.inner_pid,
			 (unsigned long long)k->stat.start_time);
	return n >= (int)sizeof ((struct sockaddr_un *)0)->sun_path;
}

/* A .NET process without a socket of its own: why? */
static void explain_no_socket(const struct look *k, struct target *t)
{
	struct statvfs fs;
	struct stat st;
	const char *setting = diag_env_disabled(k->environ.data, k->environ.len);
	if (setting)
		discover_refuse(t, REASON_DiagnosticsDisabled, "%s=0 switches the diagnostics port off", setting);
	else if (k->tmp_fd < 0)
		discover_refuse(t, REASON_NoStagingPlace, "its temporary folder %s cannot be opened: %s", k->tmp_inner,
				strerror(k->tmp_errno));
	else if (fstatvfs(k->tmp_fd, &fs) == 0 && fs.f_flag & ST_RDONLY)
		discover_refuse(t, REASON_NoStagingPlace, "its temporary folder %s is read-only: the runtime could not open its socket",
				k->tmp_inner);
	else if (fstat(k->tmp_fd, &st) == 0 && !writable_by(&st, k->status.uid, k->status.gid))
		discover_refuse(t, REASON_NoStagingPlace, "its temporary folder %s is not writable for uid %u", k->tmp_inner,
				(unsigned)k->status.uid);
	else if (too_long_for_socket(k))
		discover_refuse(t, REASON_PathTooLong,
				"its temporary folder's path has %zu bytes: too long for the runtime's diagnostics socket", strlen(k->tmp_inner));
	else
		discover_refuse(t, REASON_DiagnosticsDisabled, "it has no diagnostics socket in %s", k->tmp_inner);
}

/* Whether the process has threads of the runtime's, which all users may know. */
static bool has_runtime_thread(int proc_fd)
{
	AUTO_FD int fd = openat(proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_DIR DIR *tasks = fd < 0 ? NULL : fsio_opendir_take(steal_fd(&fd));
	struct dirent *entry;
	while (tasks && (entry = readdir(tasks))) {
		char path[sizeof entry->d_name + 8], name[16];
		snprintf(path, sizeof path, "%s/comm", entry->d_name);
		if (entry->d_name[0] != '.' && fsio_read_small(dirfd(tasks), path, name, sizeof name) >= 0 && strncmp(name, ".NET ", 5) == 0)
			return true;
	}
	return false;
}

/* By its file, where no runtime tells. */
static void name_program(const struct look *k, struct target *t)
{
	char exe[PATH_MAX];
	AUTO_BUF struct buf text;
	buf_init(&text, sizeof exe);
	ssize_t n = readlinkat(k->proc_fd, "exe", exe, sizeof exe - 1);
	if (n <= 0)
		return;
	exe[n] = '\0';
	const char *name = strrchr(exe, '/') ? strrchr(exe, '/') + 1 : exe;
	text_append_printable(&text, name, text_cut_utf8(name, 200));
	t->entrypoint = mem_strdup(buf_str(&text));
}

/* Decides whether the process is .NET at all; fills the candidate when it is. */
static bool examine(struct look *k, struct candidate *c)
{
	if (!k->denied && proc_read_environ(k->proc_fd, &k->environ) < 0)
		k->denied = errno == EACCES || errno == EPERM;
	if (k->denied) {
		if (!k->filtered) {
			k->hidden = has_runtime_thread(k->proc_fd);
			return false;
		}
		fill_host_target(k, &c->target);
		char why[RIGHTS_TEXT_SIZE];
		discover_refuse(&c->target, REASON_PermissionDenied, "the agent may not look into process %d: %s", (int)k->pid,
				rights_explain_own_refusal(why));
		return true;
	}
	open_process_tmp(k);
	fill_host_target(k, &c->target);
	if (find_exact_socket(k, c))
		return true;
	enum runtime_kind kind = runtime_kind_of(k->proc_fd);
	if (kind == RUNTIME_NONE || kind == RUNTIME_UNREADABLE)
		return false;
	if (kind == RUNTIME_NATIVE_AOT)
		name_program(k, &c->target);
	if (kind == RUNTIME_NATIVE_AOT)
		discover_refuse(&c->target, REASON_NativeAOT, NATIVE_AOT_TEXT);
	else if (kind == RUNTIME_MONO)
		discover_refuse(&c->target, REASON_UnsupportedRuntime, "the application runs on Mono");
	else if (!refuse_stopped(k, &c->target) && !find_listed_socket(k, c))
		explain_no_socket(k, &c->target);
	return true;
}

/* A pod whose processes the node does not see: the program that runs its sandbox stands for it. */
static void add_sandbox(const struct discover_options *o, const char *kind, struct candidate_list *out)
{
	struct candidate *c = candidate_list_add(out);
	c->target.mode = AGENT_MODE_HOST_PID;
	c->target.pod_uid = mem_strdup(o->pod_uid);
	c->target.container_id = o->container_ids ? mem_strdup(o->container_ids[0]) : NULL;
	discover_refuse(&c->target, REASON_UnsupportedRuntime, "the pod runs in %s: its processes are not the node's", kind);
}

static void examine_apart(struct apart *a, void *ctx)
{
	struct look *k = ctx;
	(void)a;
	k->is_dotnet = examine(k, &k->found);
}

static void look_free(void *ctx)
{
	struct look *k = ctx;
	target_fini(&k->found.target);
	cleanup_fd(&k->found.fd);
	buf_fini(&k->environ);
	cleanup_fd(&k->tmp_fd);
	cleanup_fd(&k->proc_fd);
	free(k->root);
	free(k);
}

static struct look *look_new(const struct discover_options *o, const char *root, pid_t pid)
{
	int proc_fd = proc_open(root, pid);
	if (proc_fd < 0)
		return NULL;
	struct look *k = mem_alloc(sizeof *k);
	k->root = mem_strdup(root);
	k->filtered = is_filtered(o);
	k->deadline_ms = o->deadline_ms;
	k->pid = pid;
	k->proc_fd = proc_fd;
	k->tmp_fd = k->found.fd = -1;
	return k;
}

/* A process whose files or memory do not let go of who looks. Who looks at all of them is told of each pod once. */
static void add_unresponsive(struct candidate *c, struct target *who, const struct err *why)
{
	c->target = *who;
	*who = (struct target){0};
	discover_refuse(&c->target, why->reason ? why->reason : REASON_InternalError, "%s", why->message);
}

/* Looks apart: the process's folder, environment and command line are its own, and may never answer. Takes the look over. */
static void examine_take(struct look *k, struct candidate_list *out)
{
	char place[APART_PLACE_SIZE];
	struct target who = {0};
	struct err e = ERR_INIT;
	bool filtered = k->filtered;
	uint64_t order = k->stat.start_time;
	fill_identity(k, &who);
	apart_place(&who, place);
	bool over = apart_run(place, examine_apart, k, look_free, DISCOVER_LOOK_MS, &e) == 0;
	bool told = !over && (filtered || e.kind == ERR_TIMEOUT);
	struct candidate *c = told || (over && k->is_dotnet) ? candidate_list_add(out) : NULL;
	if (c) {
		c->order = order;
		if (told)
			add_unresponsive(c, &who, &e);
	}
	if (c && over) {
		c->target = k->found.target;
		c->fd = steal_fd(&k->found.fd);
		k->found.target = (struct target){0};
	}
	target_fini(&who);
	out->hidden += over && k->hidden;
	if (over)
		look_free(k);
}

/* *sandbox: what the asked-for pod runs in, once that is known. */
static void examine_process(const struct discover_options *o, const char *root, pid_t pid, struct candidate_list *out, const char **sandbox)
{
	struct look *k = out->count < DISCOVER_MAX_CANDIDATES ? look_new(o, root, pid) : NULL;
	if (!k)
		return;
	bool candidate = may_be_dotnet(k, o);
	if (o->pod_uid && strcmp(o->pod_uid, k->group.pod_uid) == 0 && !*sandbox)
		*sandbox = sandbox_kind_of(k->proc_fd);
	if (candidate)
		examine_take(k, out);
	else
		look_free(k);
}

/* Of a pod that was asked for, half of the processes would be a wrong answer; of all, it is better than none. */
static int out_of_time(const struct discover_options *o, pid_t next, struct candidate_list *out, struct err *e)
{
	if (is_filtered(o))
		return err_set_reason(e, ERR_TIMEOUT, REASON_ProcessUnresponsive, "the pod's processes were not all looked at in time");
	LOG_WARN("discover", "the processes were not all looked at in time", LOG_I("next", next));
	out->next_pid = next;
	return 0;
}

int discover_host(const struct discover_options *o, struct candidate_list *out, struct err *e)
{
	const char *root = o->proc_root ? o->proc_root : PROC_ROOT;
	const char *sandbox = NULL;
	if (o->pid != 0) {
		examine_process(o, root, o->pid, out, &sandbox);
		return 0;
	}
	AUTO_DIR DIR *dir = opendir(root);
	if (!dir)
		return err_set_errno(e, errno, "cannot list %s", root);
	struct dirent *entry;
	while ((entry = readdir(dir))) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);
		if (*end || end == entry->d_name || pid <= 0 || pid > INT32_MAX || pid < o->from_pid)
			continue;
		if (o->deadline_ms > 0 && clock_mono_ms() >= o->deadline_ms)
			return out_of_time(o, (pid_t)pid, out, e);
		if (out->count == DISCOVER_MAX_CANDIDATES && !is_filtered(o)) {
			out->next_pid = (pid_t)pid;
			return 0;
		}
		examine_process(o, root, (pid_t)pid, out, &sandbox);
	}
	if (sandbox && out->count == 0)
		add_sandbox(o, sandbox, out);
	return 0;
}

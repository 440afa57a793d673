#include "agent/target/target.h"

#include "agent/host/cgroup.h"
#include "agent/host/proc.h"
#include "agent/target/target_fs.h"
#include "common/api/reason.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The owned strings of struct target, for every place that treats them alike. */
static char **strings_of(struct target *t, size_t i)
{
	char **const all[] = {&t->pod_uid,    &t->container_id,   &t->proc_dir,        &t->container_name, &t->shared_folder,
			      &t->socket_path, &t->tmp_inner,     &t->tmp_outer,       &t->entrypoint,     &t->command_line,
			      &t->runtime_version, &t->arch,      &t->os,              &t->rid,            &t->message};
	return i < sizeof all / sizeof all[0] ? all[i] : NULL;
}

void target_fini(struct target *t)
{
	if (!t)
		return;
	for (size_t i = 0; strings_of(t, i); i++)
		free(*strings_of(t, i));
	memset(t, 0, sizeof *t);
}

void target_copy(struct target *out, const struct target *from)
{
	struct target copy = *from;
	for (size_t i = 0; strings_of(&copy, i); i++)
		*strings_of(&copy, i) = mem_strdup(*strings_of(&copy, i));
	*out = copy;
}

void target_list_add_take(struct target_list *l, struct target *t)
{
	GROW(l->items, l->count, l->cap);
	l->items[l->count++] = *t;
	memset(t, 0, sizeof *t);
}

void target_list_fini(struct target_list *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->count; i++)
		target_fini(&l->items[i]);
	free(l->items);
	memset(l, 0, sizeof *l);
}

static bool same_entrypoint(const char *have, const char *want)
{
	size_t have_len = strlen(have), want_len = strlen(want);
	if (have_len > 4 && strcmp(have + have_len - 4, ".dll") == 0)
		have_len -= 4;
	if (want_len > 4 && strcmp(want + want_len - 4, ".dll") == 0)
		want_len -= 4;
	return have_len == want_len && memcmp(have, want, have_len) == 0;
}

static bool target_matches(const struct target *t, const char *container_id, const char *entrypoint, int64_t inner_pid)
{
	/* Without a common pid namespace nobody knows the container's id; the folder has already chosen the pod. */
	if (container_id && (t->container_id || t->mode == AGENT_MODE_HOST_PID) &&
	    (!t->container_id || strcmp(t->container_id, container_id) != 0))
		return false;
	if (inner_pid != 0 && t->inner_pid != inner_pid)
		return false;
	return !entrypoint || (t->entrypoint && same_entrypoint(t->entrypoint, entrypoint));
}

/* Reasons that waiting does not change: such a process is not what a session can have meant beside a profilable one. */
static bool never_profilable(const struct target *t)
{
	const char *const never[] = {REASON_NativeAOT,	   REASON_DiagnosticsDisabled,	  REASON_RuntimeTooOld,
				     REASON_PermissionDenied, REASON_UnsupportedRuntime, REASON_ArchitectureMismatch};
	for (size_t i = 0; i < sizeof never / sizeof never[0]; i++) {
		if (t->reason == never[i])
			return !t->profilable;
	}
	return false;
}

/* "Checkout (pid 1, container app)" */
static void append_name(struct buf *out, const struct target *t)
{
	const char *entry = t->entrypoint ? t->entrypoint : ".NET process";
	text_append_printable(out, entry, text_cut_utf8(entry, 60));
	buf_printf(out, " (pid %d", (int)t->inner_pid);
	if (t->container_name)
		buf_printf(out, ", container %s", t->container_name);
	else if (t->container_id)
		buf_printf(out, ", container %.12s", t->container_id);
	buf_putc(out, ')');
}

static int refuse_ambiguous_target(const struct target_list *l, const size_t *hits, size_t count, struct err *e)
{
	AUTO_BUF struct buf names;
	buf_init(&names, 300);
	for (size_t i = 0; i < count && !names.full; i++) {
		buf_puts(&names, i ? ", " : "");
		append_name(&names, &l->items[hits[i]]);
	}
	return err_set_reason(e, ERR_INVALID, REASON_AmbiguousProcess, "%zu .NET processes match: %s%s", count, buf_str(&names),
			      names.full ? ", ..." : "");
}

static int refuse_own_reason(const struct target *t, struct err *e)
{
	const char *reason = t->reason ? t->reason : REASON_NoDotnetProcess;
	enum err_kind kind = reason == REASON_PermissionDenied ? ERR_DENIED : ERR_INVALID;
	AUTO_BUF struct buf name;
	buf_init(&name, 300);
	if (t->inner_pid != 0)
		append_name(&name, t);
	return err_set_reason(e, kind, reason, "%s%s%s", buf_str(&name), name.len ? ": " : "", t->message ? t->message : "cannot be profiled");
}

/* Leaves only the profilable of the hits, when all others never can be profiled. */
static size_t prefer_profilable(const struct target_list *l, size_t *hits, size_t count)
{
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		if (!never_profilable(&l->items[hits[i]]))
			hits[kept++] = hits[i];
	}
	return kept > 0 ? kept : count;
}

/* Nobody has the entry point asked for, but one process did not tell its own (it is stopped, silent, ...): what is wrong
 * with it says more than "not found". */
static int refuse_none(const struct target_list *l, const char *container_id, const char *entrypoint, int64_t inner_pid, struct err *e)
{
	const struct target *silent = NULL;
	size_t count = 0;
	for (size_t i = 0; entrypoint && i < l->count; i++) {
		const struct target *t = &l->items[i];
		if (!t->entrypoint && t->reason && target_matches(t, container_id, NULL, inner_pid)) {
			silent = t;
			count++;
		}
	}
	if (count == 1)
		return refuse_own_reason(silent, e);
	return err_set_reason(e, ERR_NOT_FOUND, REASON_ProcessNotFound, "none of the %zu .NET processes is the one asked for", l->count);
}

ssize_t target_choose(const struct target_list *l, const char *container_id, const char *entrypoint, int64_t inner_pid, struct err *e)
{
	if (l->count == 0)
		return err_set_reason(e, ERR_NOT_FOUND, REASON_NoDotnetProcess, "no .NET process was found");
	AUTO_FREE size_t *hits = mem_calloc(l->count, sizeof *hits);
	size_t count = 0;
	for (size_t i = 0; i < l->count; i++) {
		if (target_matches(&l->items[i], container_id, entrypoint, inner_pid))
			hits[count++] = i;
	}
	if (count == 0)
		return refuse_none(l, container_id, entrypoint, inner_pid, e);
	if (count > 1) {
		count = prefer_profilable(l, hits, count);
		bool all_never = never_profilable(&l->items[hits[0]]);
		if (count > 1 && !all_never)
			return refuse_ambiguous_target(l, hits, count, e);
	}
	const struct target *t = &l->items[hits[0]];
	if (!t->profilable)
		return refuse_own_reason(t, e);
	return (ssize_t)hits[0];
}

bool target_only_unattachable(const struct target *t, const char *reason, unsigned without)
{
	const char *const reasons[] = {REASON_DiagnosticsDisabled, REASON_AttachFailed,	    REASON_ProfilerAlreadyActive, REASON_NoStagingPlace,
				       REASON_PathTooLong,	   REASON_NotEnoughMemory,  REASON_ProcessLimitReached};
	if (t->mode != AGENT_MODE_HOST_PID)
		return false;
	for (size_t i = 0; without & TARGET_WITHOUT_LIBRARY && i < sizeof reasons / sizeof *reasons; i++)
		if (reason == reasons[i])
			return true;
	return without & TARGET_WITHOUT_RUNTIME && reason == REASON_NativeAOT;
}

bool target_list_admit(struct target_list *l, const char *reason, unsigned without)
{
	bool any = false;
	for (size_t i = 0; reason && i < l->count; i++) {
		struct target *t = &l->items[i];
		bool fits = t->reason == reason && target_only_unattachable(t, reason, without);
		t->profilable |= fits;
		any |= fits;
	}
	return any;
}

struct cgroup_owner target_cgroup(const struct target *t)
{
	return (struct cgroup_owner){t->pid, t->pod_uid, t->container_id};
}

/* What the agent itself lacks says nothing of the process. */
bool target_has_musl(const struct target *t)
{
	return t->rid && strstr(t->rid, "-musl-");
}

bool target_alive(const struct target *t)
{
	struct err e = ERR_INIT;
	AUTO_FD int fd = t->mode == AGENT_MODE_SHARED_TMP ? target_open_tmp(t, &e) : target_open_proc(t, &e);
	return fd >= 0 || e.code == EMFILE || e.code == ENFILE || e.code == ENOMEM;
}

bool target_stopped(const struct target *t)
{
	struct cgroup_owner group = target_cgroup(t);
	if (t->mode == AGENT_MODE_SHARED_TMP)
		return cgroup_is_frozen(PROC_ROOT, &group);
	struct proc_stat stat;
	AUTO_FD int fd = target_open_proc(t, NULL);
	if (fd < 0 || proc_read_stat(fd, &stat) < 0)
		return false;
	const char *slash = t->proc_dir ? strrchr(t->proc_dir, '/') : NULL;
	AUTO_FREE char *proc_root = slash ? mem_strndup(t->proc_dir, (size_t)(slash - t->proc_dir)) : mem_strdup(PROC_ROOT);
	return stat.state == 'T' || stat.state == 't' || cgroup_is_frozen(proc_root, &group);
}

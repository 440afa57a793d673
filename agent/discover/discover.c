#include "agent/discover/discover.h"

#include "agent/discover/preflight.h"
#include "agent/target/apart.h"
#include "agent/diag/diag_socket.h"
#include "agent/attach/stage.h"
#include "common/api/reason.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FOLDER_ENTRIES 65536 /* of a temporary folder; a socket behind them is not found */

struct candidate *candidate_list_add(struct candidate_list *l)
{
	if (l->count >= DISCOVER_MAX_CANDIDATES)
		return NULL;
	GROW(l->items, l->count, l->cap);
	l->items[l->count] = (struct candidate){.fd = -1};
	return &l->items[l->count++];
}

void candidate_list_drop_last(struct candidate_list *l)
{
	struct candidate *c = &l->items[--l->count];
	target_fini(&c->target);
	cleanup_fd(&c->fd);
}

void candidate_list_fini(struct candidate_list *l)
{
	while (l->count > 0)
		candidate_list_drop_last(l);
	free(l->items);
	memset(l, 0, sizeof *l);
}

void discover_refuse(struct target *t, const char *reason, const char *fmt, ...)
{
	if (t->reason)
		return;
	AUTO_BUF struct buf text;
	buf_init(&text, ERR_MESSAGE_SIZE);
	va_list args;
	va_start(args, fmt);
	buf_vprintf(&text, fmt, args);
	va_end(args);
	t->profilable = false;
	t->reason = reason;
	t->message = buf_steal(&text);
}

static int newest_socket_first(const void *a, const void *b)
{
	uint64_t x = ((const struct socket_file *)a)->key, y = ((const struct socket_file *)b)->key;
	return x < y ? 1 : x > y ? -1 : 0;
}

size_t discover_list_sockets(int dirfd, int32_t inner_pid, struct socket_file out[DISCOVER_MAX_SOCKETS])
{
	int copy = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_DIR DIR *dir = fsio_opendir_take(copy);
	size_t count = 0;
	struct dirent *entry;
	for (int seen = 0; dir && seen < MAX_FOLDER_ENTRIES && (entry = readdir(dir)); seen++) {
		struct diag_socket_name name;
		size_t len = strlen(entry->d_name);
		if (count == DISCOVER_MAX_SOCKETS)
			break;
		if (len >= sizeof out->name || !diag_socket_parse_name(entry->d_name, &name) ||
		    (inner_pid != 0 && name.inner_pid != inner_pid))
			continue;
		memcpy(out[count].name, entry->d_name, len + 1);
		out[count].inner_pid = name.inner_pid;
		out[count++].key = name.key;
	}
	qsort(out, count, sizeof *out, newest_socket_first);
	return count;
}

static int oldest_first(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return (x->target.pid > y->target.pid) - (x->target.pid < y->target.pid);
}

struct verdict {
	struct target target; /* a copy */
	int rc;
	struct err e;
};

static void verdict_free(void *ctx)
{
	struct verdict *v = ctx;
	target_fini(&v->target);
	free(v);
}

static void run_preflight(struct apart *a, void *ctx)
{
	struct verdict *v = ctx;
	(void)a;
	v->rc = preflight_check(&v->target, &v->e);
}

/* The verdict on a process whose runtime has answered. */
static void judge_target(struct target *t)
{
	char place[APART_PLACE_SIZE];
	struct err e = ERR_INIT;
	if (t->reason)
		return;
	struct verdict *v = mem_alloc(sizeof *v);
	target_copy(&v->target, t);
	apart_place(t, place);
	if (apart_run(place, run_preflight, v, verdict_free, DISCOVER_LOOK_MS, &e) < 0) {
		discover_refuse(t, e.reason ? e.reason : REASON_InternalError, "%s", e.message);
		return;
	}
	if (v->rc < 0)
		discover_refuse(t, v->e.reason ? v->e.reason : REASON_InternalError, "%s", v->e.message);
	else
		t->profilable = true;
	verdict_free(v);
}

int discover_targets(const struct discover_options *o, struct target_list *out, struct err *e)
{
	struct candidate_list found = {0};
	int r = o->mode == AGENT_MODE_HOST_PID ? discover_host(o, &found, e) : discover_shared(o, &found, e);
	if (r == 0 && o->query_runtime)
		discover_query(&found, o->answer_ms, o->deadline_ms);
	if (r == 0 && found.count > 0)
		qsort(found.items, found.count, sizeof *found.items, oldest_first);
	for (size_t i = 0; r == 0 && i < found.count; i++) {
		struct target *t = &found.items[i].target;
		t->held = o->held;
		if (o->query_runtime)
			judge_target(t);
		if (t->reason != REASON_ProcessExited)
			target_list_add_take(out, t);
	}
	out->next_pid = found.next_pid;
	out->hidden = found.hidden;
	out->opened_late_s = found.opened_late_s;
	candidate_list_fini(&found);
	return r;
}

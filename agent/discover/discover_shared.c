/* Discovery in the shared tmp mode: a parent folder with a folder per pod, named "<namespace>_<pod>" or, with a folder per
 * container in it, by the pod's uid. All in them is the pods' word; a socket that nobody listens on is not a process. */
#include "agent/diag/diag_exchange.h"
#include "agent/diag/diag_socket.h"
#include "agent/discover/discover.h"
#include "agent/discover/shared_tmp.h"
#include "agent/target/target_fs.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"
#include "common/link/link_msg.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_FOLDERS 4096     /* pods on a node: a few hundred */
#define MAX_CONTAINER_FOLDERS (2 * LINK_MAX_CONTAINERS) /* of one pod: those of its init containers, which are over, lie there too */
#define INNER_TMP "/tmp"     /* where the pods mount their folder */

/* One folder that may hold sockets. */
struct place {
	const struct discover_options *options;
	const char *pod_folder;
	const char *container; /* NULL: the pod's folder itself */
	bool by_uid;           /* the folder is named by the pod's uid */
	int dir_fd;
};

static bool is_pod_uid(const char *s)
{
	return strlen(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' &&
	       strspn(s, "0123456789abcdef-") == 36;
}

static void fill_shared_target(const struct place *p, const struct socket_file *file, const struct stat *st, struct target *t)
{
	const struct discover_options *o = p->options;
	t->mode = AGENT_MODE_SHARED_TMP;
	t->inner_pid = file->inner_pid;
	t->uid = st->st_uid;
	t->gid = st->st_gid;
	t->pod_uid = p->by_uid ? mem_strdup(p->pod_folder) : mem_strdup(o->pod_uid);
	t->shared_folder = mem_strdup(p->pod_folder);
	t->container_name = mem_strdup(p->container);
	t->socket_path = mem_printf(INNER_TMP "/%s", file->name);
	t->tmp_inner = mem_strdup(INNER_TMP);
	t->tmp_outer = mem_printf("%s/%s%s%s", o->shared_parent, p->pod_folder, p->container ? "/" : "",
				  p->container ? p->container : "");
}

static void add_socket(const struct place *p, const struct socket_file *file, struct candidate_list *out)
{
	int64_t until = clock_mono_ms() + DISCOVER_CONNECT_MS;
	if (p->options->deadline_ms > 0 && until > p->options->deadline_ms)
		until = p->options->deadline_ms;
	struct err e = ERR_INIT;
	struct stat st;
	AUTO_FD int fd = diag_socket_connect(p->dir_fd, file->name, (uid_t)-1, 0, until, &e);
	if (fd >= 0)
		diag_exchange_ask(fd, DISCOVER_QUESTION);
	else if (e.kind != ERR_DENIED && e.kind != ERR_TIMEOUT)
		return; /* stale, or no socket at all */
	if (fstatat(p->dir_fd, file->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	struct candidate *c = candidate_list_add(out);
	if (!c)
		return;
	c->order = file->key;
	fill_shared_target(p, file, &st, &c->target);
	if (fd < 0)
		discover_refuse(&c->target, e.reason ? e.reason : REASON_AttachFailed, "%s", e.message);
	c->fd = steal_fd(&fd);
}

static void examine_folder(const struct place *p, struct candidate_list *out)
{
	AUTO_FREE struct socket_file *files = mem_calloc(DISCOVER_MAX_SOCKETS, sizeof *files);
	size_t count = discover_list_sockets(p->dir_fd, 0, files);
	int64_t opened_s = shared_tmp_opened_late(p->dir_fd);
	if (opened_s > out->opened_late_s)
		out->opened_late_s = opened_s;
	for (size_t i = 0; i < count; i++)
		add_socket(p, &files[i], out);
}

static bool wants_container(const struct discover_options *o, const char *name)
{
	for (size_t i = 0; i < o->container_name_count; i++) {
		if (strcmp(o->container_names[i], name) == 0)
			return true;
	}
	return o->container_names == NULL;
}

/* The containers' folders of a pod's folder that is named by the uid. */
static void look_into_containers(const struct place *pod, struct candidate_list *out)
{
	int copy = openat(pod->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_DIR DIR *dir = fsio_opendir_take(copy);
	struct dirent *entry;
	for (int seen = 0; dir && seen < MAX_CONTAINER_FOLDERS && (entry = readdir(dir));) {
		if (entry->d_name[0] == '.' || !wants_container(pod->options, entry->d_name))
			continue;
		seen++;
		AUTO_FD int fd = target_fs_open_beneath(pod->dir_fd, entry->d_name, O_RDONLY | O_DIRECTORY, 0);
		struct place p = *pod;
		p.container = entry->d_name;
		p.dir_fd = fd;
		if (fd >= 0)
			examine_folder(&p, out);
	}
}

static void look_into_pod(const struct discover_options *o, int parent_fd, const char *name, struct candidate_list *out)
{
	AUTO_FD int fd = target_fs_open_beneath(parent_fd, name, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return;
	struct place p = {.options = o, .pod_folder = name, .by_uid = is_pod_uid(name), .dir_fd = fd};
	if (p.by_uid)
		look_into_containers(&p, out);
	else
		examine_folder(&p, out);
}

int discover_shared(const struct discover_options *o, struct candidate_list *out, struct err *e)
{
	AUTO_FD int parent = open(o->shared_parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0)
		return err_set_errno(e, errno, "cannot open the shared folder %s", o->shared_parent);
	if (o->pod_uid || (o->pod_namespace && o->pod_name)) {
		if (o->pod_uid && is_pod_uid(o->pod_uid))
			look_into_pod(o, parent, o->pod_uid, out);
		if (o->pod_namespace && o->pod_name) {
			AUTO_FREE char *name = mem_printf("%s_%s", o->pod_namespace, o->pod_name);
			look_into_pod(o, parent, name, out);
		}
		return 0;
	}
	int copy = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_DIR DIR *dir = fsio_opendir_take(copy);
	struct dirent *entry;
	for (int seen = 0; dir && seen < MAX_FOLDERS && (entry = readdir(dir));) {
		if (entry->d_name[0] == '.')
			continue;
		if (o->deadline_ms > 0 && clock_mono_ms() >= o->deadline_ms)
			return err_set(e, ERR_TIMEOUT, 0, "the pods' folders were not all looked at in time");
		seen++;
		look_into_pod(o, parent, entry->d_name, out);
	}
	return 0;
}

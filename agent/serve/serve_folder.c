/* The sessions' folders: DIR/<name>/session.json beside the report's files. */
#include "agent/serve/serve_private.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/rest/rest_id.h"
#include "common/rest/rest_sessions.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DOCUMENT "session.json"
#define DOCUMENT_MAX_BYTES (256 * 1024)

int serve_folder_make(struct serve_sessions *s, const char *name, struct err *e)
{
	if (mkdirat(s->dir_fd, name, 0700) == 0)
		return 0;
	if (errno == EEXIST)
		return err_set(e, ERR_CONFLICT, 0, "name: there is a session or folder \"%s\" already", name);
	return err_set_errno(e, errno, "making a folder for the session in %s", s->config.dir);
}

int serve_folder_open(const struct serve_sessions *s, const char *name)
{
	return openat(s->dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void serve_folder_save(const struct serve_sessions *s, const struct serve_session *x)
{
	struct err e = ERR_INIT;
	AUTO_FREE char *path = mem_printf("%s/%s/" DOCUMENT, s->config.dir, x->name);
	AUTO_FREE char *text = jsonx_dump(x->document, DOCUMENT_MAX_BYTES, &e);
	if (!text || fsio_write_atomic(path, text, strlen(text), 0600, &e) < 0)
		LOG_ERROR("serve", "a session's state is not kept", LOG_S("session", x->name), LOG_S("error", e.message));
}

/* Files only: nothing of ours makes folders in it. */
static void remove_folder_files(int fd)
{
	AUTO_DIR DIR *dir = fsio_opendir_take(fcntl(fd, F_DUPFD_CLOEXEC, 0));
	struct dirent *entry;
	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(fd, entry->d_name, 0);
}

void serve_folder_remove(const struct serve_sessions *s, const char *name)
{
	AUTO_FD int fd = serve_folder_open(s, name);
	if (fd >= 0)
		remove_folder_files(fd);
	if (unlinkat(s->dir_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		LOG_ERROR("serve", "a session's folder is not removed", LOG_S("session", name), LOG_S("error", strerror(errno)));
}

static json_t *read_session(const struct serve_sessions *s, const char *name)
{
	struct err e = ERR_INIT;
	AUTO_BUF struct buf text = {0};
	AUTO_FD int fd = serve_folder_open(s, name);
	if (fd < 0 || fsio_read(fd, DOCUMENT, DOCUMENT_MAX_BYTES, &text, &e) < 0)
		return NULL; /* somebody else's folder */
	json_t *session = jsonx_parse(buf_str(&text), text.len, DOCUMENT, &e);
	if (session && serve_document_is_good(session, name))
		return session;
	LOG_WARN("serve", "a folder's session.json is not one of ours", LOG_S("folder", name), LOG_S("error", e.message));
	json_decref(session);
	return NULL;
}

static void load_one(struct serve_sessions *s, const char *name, void (*found)(struct serve_sessions *s, json_t *session))
{
	json_t *session = read_session(s, name);
	if (!session)
		return;
	if (!rest_session_completed(session))
		serve_document_interrupt(session, clock_wall_ms());
	found(s, session);
}

int serve_folder_load(struct serve_sessions *s, void (*found)(struct serve_sessions *s, json_t *session), struct err *e)
{
	if (fsio_mkdir_p(s->config.dir, 0700, e) < 0)
		return -1;
	s->dir_fd = open(s->config.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir_fd < 0)
		return err_set_errno(e, errno, "opening %s", s->config.dir);
	AUTO_DIR DIR *dir = fsio_opendir_take(fcntl(s->dir_fd, F_DUPFD_CLOEXEC, 0));
	if (!dir)
		return err_set_errno(e, errno, "reading %s", s->config.dir);
	struct dirent *entry;
	for (size_t n = 0; n < SERVE_SESSIONS_MAX && (entry = readdir(dir));) {
		if (!rest_id_is_name(entry->d_name))
			continue;
		load_one(s, entry->d_name, found);
		n++;
	}
	return 0;
}

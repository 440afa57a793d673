#include "agent/attach/stage.h"

#include "agent/attach/named_library.h"
#include "agent/attach/stage_sweep.h"
#include "agent/target/target_fs.h"
#include "common/api/reason.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/fsio.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBRARY_MAX_BYTES (32u << 20)
#define HASH_HEX 16
#define SOCKET_NAME "c"
#define FOLDERS_TRIED 8
#define SWEEP_OLDER_THAN_S 2 /* a folder that its session has not locked yet is younger */

/* The first digits of a SHA-256. */
static int sha256_digits(const void *data, size_t len, char *out, size_t digits, struct err *e)
{
	uint8_t digest[EVP_MAX_MD_SIZE];
	unsigned size = 0;
	if (EVP_Digest(data, len, digest, &size, EVP_sha256(), NULL) != 1 || size < digits / 2)
		return err_set(e, ERR_INTERNAL, 0, "cannot compute a SHA-256");
	text_hex(digest, digits / 2, out);
	return 0;
}

int stage_mark(const struct target *t, char out[STAGE_MARK_DIGITS + 1], struct err *e)
{
	const char *slash = t->socket_path ? strrchr(t->socket_path, '/') : NULL;
	const char *name = slash ? slash + 1 : "";
	return sha256_digits(name, strlen(name), out, STAGE_MARK_DIGITS, e);
}

/* "no space" and "read-only" are the container's matter; whatever refuses here, there is no staging place. */
static int refuse_stage(const struct target *t, const char *what, int errnum, struct err *e)
{
	err_set_errno(e, errnum, "cannot %s in %s", what, t->tmp_inner);
	if (e)
		e->reason = REASON_NoStagingPlace;
	return -1;
}

static bool is_empty(int dir_fd)
{
	AUTO_DIR DIR *dir = fsio_opendir_take(openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return false;
	}
	return dir != NULL;
}

/* True when the name in the temporary folder still leads to our folder. */
static bool still_ours(const struct stage *s)
{
	struct stat ours, named;
	return fstat(s->dir_fd, &ours) == 0 && fstatat(s->tmp_fd, s->dir_name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

#define TAKEN_AWAY 1

/* 0, -1, or TAKEN_AWAY: an agent that starts takes what nobody has locked for left behind. A folder that somebody swapped in meanwhile is noticed: it is not
 * the agent's, or not empty. The lock says to a later sweep that this session lives; the kernel drops it with the agent. */
static int try_stage_folder(const struct target *t, struct stage *s, struct err *e)
{
	uint8_t random[(HASH_HEX - STAGE_MARK_DIGITS) / 2];
	char mark[STAGE_MARK_DIGITS + 1], hex[sizeof random * 2 + 1];
	if (stage_mark(t, mark, e) < 0)
		return -1;
	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		return err_set_errno(e, errno, "cannot get random bytes");
	text_hex(random, sizeof random, hex);
	snprintf(s->dir_name, sizeof s->dir_name, STAGE_FOLDER_PREFIX "%s%s", mark, hex);
	if (mkdirat(s->tmp_fd, s->dir_name, 0711) < 0) {
		int saved = errno;
		s->dir_name[0] = '\0';
		return refuse_stage(t, "make a folder", saved, e);
	}
	s->dir_fd = target_fs_open_beneath(s->tmp_fd, s->dir_name, O_RDONLY | O_DIRECTORY, 0);
	struct stat st;
	if (s->dir_fd < 0 || fstat(s->dir_fd, &st) < 0) {
		int saved = errno;
		unlinkat(s->tmp_fd, s->dir_name, AT_REMOVEDIR);
		refuse_stage(t, "open the session's folder", saved, e);
		return saved == ENOENT ? TAKEN_AWAY : -1;
	}
	if (st.st_uid != geteuid() || !is_empty(s->dir_fd)) {
		cleanup_fd(&s->dir_fd); /* nothing of ours is in there */
		s->dir_fd = -1;
		return err_set_reason(e, ERR_DENIED, REASON_NoStagingPlace, "the session's folder in %s was replaced by one of uid %u",
				      t->tmp_inner, (unsigned)st.st_uid);
	}
	if (fchmod(s->dir_fd, 0711) < 0) /* whatever the umask is */
		return refuse_stage(t, "open the session's folder to its user", errno, e);
	bool is_swept = flock(s->dir_fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	if (!is_swept && still_ours(s))
		return 0;
	cleanup_fd(&s->dir_fd);
	s->dir_fd = -1;
	refuse_stage(t, "keep the session's folder", ENOENT, e);
	return TAKEN_AWAY;
}

static int make_stage_folder(const struct target *t, struct stage *s, struct err *e)
{
	int r = TAKEN_AWAY;
	for (int i = 0; i < FOLDERS_TRIED && r == TAKEN_AWAY; i++)
		r = try_stage_folder(t, s, e);
	return r ? -1 : 0;
}

static int write_library(const struct target *t, struct stage *s, const struct buf *library, struct err *e)
{
	AUTO_FD int fd = target_fs_open_beneath(s->dir_fd, s->library_name, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return refuse_stage(t, "create the library", errno, e);
	s->has_library = true;
	if (fsio_write_all(fd, library->data, library->len) < 0 || fchmod(fd, 0644) < 0)
		return refuse_stage(t, "write the library", errno, e);
	/* Read back: what the process will load is what we have, or there is no session. */
	AUTO_FREE char *copy = mem_alloc(library->len + 1);
	ssize_t n = pread(fd, copy, library->len + 1, 0);
	if (n < 0 || (size_t)n != library->len || memcmp(copy, library->data, library->len) != 0)
		return err_set_reason(e, ERR_DENIED, REASON_NoStagingPlace, "the library in %s is not what was written", t->tmp_inner);
	return 0;
}

static int stage_into(const struct target *t, struct buf *library, struct stage *s, struct err *e)
{
	char hash[HASH_HEX + 1];
	if (sha256_digits(library->data, library->len, hash, HASH_HEX, e) < 0)
		return -1;
	if (stage_sweep(t, SWEEP_OLDER_THAN_S, NULL) > 0)
		LOG_INFO("stage", "removed what a killed session left behind", LOG_S("folder", t->tmp_inner));
	if (make_stage_folder(t, s, e) < 0)
		return -1;
	snprintf(s->library_name, sizeof s->library_name, "libdrdotnet-%s.so", hash);
	s->mapped_bytes = named_library_mapped_bytes((uint8_t *)library->data, library->len);
	s->is_named = target_has_musl(t) && named_library_make((uint8_t *)library->data, library->len, s->library_name);
	if (write_library(t, s, library, e) < 0)
		return -1;
	s->dir_inner = mem_printf("%s/%s", strcmp(t->tmp_inner, "/") == 0 ? "" : t->tmp_inner, s->dir_name);
	s->library_inner = mem_printf("%s/%s", s->dir_inner, s->library_name);
	return 0;
}

int stage_prepare(const struct target *t, const char *library_path, struct stage *s, struct err *e)
{
	*s = (struct stage){.tmp_fd = -1, .dir_fd = -1};
	int tmp = target_open_tmp(t, e);
	return tmp < 0 ? -1 : stage_prepare_in_take(t, tmp, library_path, s, e);
}

int stage_prepare_in_take(const struct target *t, int tmp_fd, const char *library_path, struct stage *s, struct err *e)
{
	*s = (struct stage){.tmp_fd = tmp_fd, .dir_fd = -1};
	AUTO_BUF struct buf library = {0};
	if (fsio_read(AT_FDCWD, library_path, LIBRARY_MAX_BYTES, &library, e) == 0) {
		if (library.len == 0)
			err_set(e, ERR_INTERNAL, 0, "%s is empty", library_path);
		else if (stage_into(t, &library, s, e) == 0)
			return 0;
	}
	stage_remove(s, NULL);
	return -1;
}

int stage_remove(struct stage *s, struct err *e)
{
	int rc = 0;
	if (!s)
		return 0;
	if (s->dir_fd >= 0) {
		if (s->has_library)
			unlinkat(s->dir_fd, s->library_name, 0);
		unlinkat(s->dir_fd, SOCKET_NAME, 0);
	}
	if (s->dir_fd >= 0 && s->dir_name[0] && still_ours(s) && unlinkat(s->tmp_fd, s->dir_name, AT_REMOVEDIR) < 0)
		rc = err_set(e, ERR_DENIED, errno, "the session's folder %s stays behind: %s", s->dir_name, strerror(errno));
	cleanup_fd(&s->dir_fd);
	cleanup_fd(&s->tmp_fd);
	free(s->dir_inner);
	free(s->library_inner);
	*s = (struct stage){.tmp_fd = -1, .dir_fd = -1};
	return rc;
}

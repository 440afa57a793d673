#include "controller/store/report_store.h"

#include "common/base/cleanup.h"
#include "common/base/fsio.h"
#include "common/base/http.h"
#include "common/base/mem.h"
#include "common/base/text.h"
#include "controller/store/report_files.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_FILE ".upload-key"
#define KEY_SIZE 32
#define SIGNATURE_HEX 64

struct report_store {
	int dir_fd;
	char *upload_base, *public_base;
	int64_t quota_bytes, expiry_seconds;
	unsigned char key[KEY_SIZE];
	pthread_mutex_t lock; /* guards the two counts and the making of room */
	int64_t used_bytes;     /* objects and reservations */
	int64_t reserved_bytes; /* by uploads under way: no removal makes room for these */
};

struct report_upload {
	struct report_store *store;
	char *key;
	char temp_name[64];
	char sha256[SIGNATURE_HEX + 1];
	int64_t size_bytes, written;
	bool committed;
	int fd;
	EVP_MD_CTX *digest;
};

bool report_store_key_valid(const char *key)
{
	size_t len = strlen(key);
	if (len == 0 || len > REPORT_KEY_MAX)
		return false;
	int segments = 0;
	for (const char *p = key;;) {
		size_t n = strcspn(p, "/");
		if (n == 0 || n > NAME_MAX - 8 || p[0] == '.' || ++segments > 8)
			return false;
		for (size_t i = 0; i < n; i++) {
			if (!isalnum((unsigned char)p[i]) && !strchr("-_.", p[i]))
				return false;
		}
		if (p[n] == '\0')
			return true;
		p += n + 1;
	}
}

/* The signing key lives with the reports: a new folder has a new key, a restarted controller the same. */
static int load_key(struct report_store *s, struct err *e)
{
	AUTO_FD int fd = openat(s->dir_fd, KEY_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && read(fd, s->key, KEY_SIZE) == KEY_SIZE)
		return 0;
	if (RAND_bytes(s->key, KEY_SIZE) != 1)
		return err_set(e, ERR_INTERNAL, 0, "no random bytes for the report store's key");
	AUTO_FD int out = openat(s->dir_fd, KEY_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (out < 0 || fsio_write_all(out, s->key, KEY_SIZE) < 0 || fsync(out) < 0)
		return err_set_errno(e, errno, "cannot write the report store's key");
	return 0;
}

struct report_store *report_store_new(const struct report_store_options *o, struct err *e)
{
	if (fsio_mkdir_p(o->folder, 0700, e) < 0)
		return NULL;
	struct report_store *s = mem_alloc(sizeof *s);
	pthread_mutex_init(&s->lock, NULL);
	s->quota_bytes = o->quota_bytes;
	s->expiry_seconds = o->expiry_seconds;
	s->upload_base = mem_strdup(o->upload_base);
	s->public_base = mem_strdup(o->public_base ? o->public_base : o->upload_base);
	s->dir_fd = open(o->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir_fd < 0)
		err_set_errno(e, errno, "cannot open the report store %s", o->folder);
	if (s->dir_fd < 0 || load_key(s, e) < 0) {
		report_store_free(s);
		return NULL;
	}
	report_files_remove_temporary(s->dir_fd);
	s->used_bytes = report_files_size(s->dir_fd);
	return s;
}

void report_store_free(struct report_store *s)
{
	if (!s)
		return;
	if (s->dir_fd >= 0)
		close(s->dir_fd);
	pthread_mutex_destroy(&s->lock);
	free(s->upload_base);
	free(s->public_base);
	OPENSSL_cleanse(s->key, sizeof s->key);
	free(s);
}

static void make_signature(const struct report_store *s, const char *key, int64_t size, const char *sha256, int64_t expires_ms,
			   char out[SIGNATURE_HEX + 1])
{
	AUTO_FREE char *text = mem_printf("%s\n%" PRId64 "\n%s\n%" PRId64, key, size, sha256, expires_ms);
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned int len = sizeof digest;
	HMAC(EVP_sha256(), s->key, KEY_SIZE, (const unsigned char *)text, strlen(text), digest, &len);
	text_hex(digest, SIGNATURE_HEX / 2, out);
}

int report_store_sign(const struct report_store *s, const char *key, int64_t size_bytes, const char *sha256, int64_t expires_wall_ms,
		      struct buf *url, struct err *e)
{
	if (!report_store_key_valid(key))
		return err_set(e, ERR_INVALID, 0, "not a usable report key");
	int64_t most = s->quota_bytes < REPORT_STORE_MAX_BYTES ? s->quota_bytes : REPORT_STORE_MAX_BYTES;
	if (size_bytes > most)
		return err_set(e, ERR_INVALID, 0, "the report has %" PRId64 " bytes, and the controller's store takes %" PRId64 " at most", size_bytes,
			       most);
	char signature[SIGNATURE_HEX + 1];
	make_signature(s, key, size_bytes, sha256, expires_wall_ms, signature);
	buf_printf(url, "%s/store/%s?size=%" PRId64 "&sha256=%s&expires=%" PRId64 "&signature=%s", s->upload_base, key, size_bytes, sha256,
		   expires_wall_ms, signature);
	return url->full ? err_set(e, ERR_INVALID, 0, "the upload URL is too long") : 0;
}

int report_store_public_url(const struct report_store *s, const char *key, struct buf *url)
{
	return buf_printf(url, "%s/reports/%s", s->public_base, key);
}

struct upload_claims {
	int64_t size, expires_ms;
	char sha256[SIGNATURE_HEX + 1], signature[SIGNATURE_HEX + 1];
};

/* The query exactly as report_store_sign() writes it. */
static int parse_query(const char *query, struct upload_claims *c)
{
	int used = 0;
	int fields = sscanf(query, "size=%" SCNd64 "&sha256=%64[0-9a-f]&expires=%" SCNd64 "&signature=%64[0-9a-f]%n", &c->size, c->sha256,
			    &c->expires_ms, c->signature, &used);
	if (fields != 4 || query[used] != '\0' || strlen(c->sha256) != SIGNATURE_HEX || strlen(c->signature) != SIGNATURE_HEX)
		return -1;
	return c->size >= 0 && c->size <= REPORT_STORE_MAX_BYTES ? 0 : -1;
}

static int check_claims(const struct report_store *s, const char *key, const char *query, int64_t now_ms, struct upload_claims *c,
			struct err *e)
{
	if (!report_store_key_valid(key) || parse_query(query, c) < 0)
		return err_set(e, ERR_DENIED, 0, "not a signed upload URL");
	char expected[SIGNATURE_HEX + 1];
	make_signature(s, key, c->size, c->sha256, c->expires_ms, expected);
	if (CRYPTO_memcmp(expected, c->signature, SIGNATURE_HEX) != 0)
		return err_set(e, ERR_DENIED, 0, "the upload URL's signature is wrong");
	if (now_ms > c->expires_ms)
		return err_set(e, ERR_DENIED, 0, "the upload URL has expired");
	return 0;
}

int64_t report_upload_signed_size(const struct report_store *s, const char *key, const char *query, int64_t now_wall_ms, struct err *e)
{
	struct upload_claims claims;
	return check_claims(s, key, query, now_wall_ms, &claims, e) < 0 ? -1 : claims.size;
}

/* Takes `size` from the quota, removing the oldest reports of the namespace that has most where needed; nothing is removed for one that cannot fit. */
static int reserve_quota(struct report_store *s, const char *key, int64_t size, struct err *e)
{
	pthread_mutex_lock(&s->lock);
	int rc = size > s->quota_bytes - s->reserved_bytes ? -1 : 0;
	int64_t need = s->used_bytes + size - s->quota_bytes;
	if (rc == 0 && need > 0)
		s->used_bytes -= report_files_make_room(s->dir_fd, key, size, need);
	if (s->used_bytes + size > s->quota_bytes)
		rc = -1;
	if (rc == 0) {
		s->used_bytes += size;
		s->reserved_bytes += size;
	}
	pthread_mutex_unlock(&s->lock);
	return rc < 0 ? err_set(e, ERR_RETRY, 0, "the report store's quota of %" PRId64 " bytes is used up", s->quota_bytes) : 0;
}

static void release_quota(struct report_store *s, int64_t size)
{
	pthread_mutex_lock(&s->lock);
	s->used_bytes -= size;
	pthread_mutex_unlock(&s->lock);
}

struct report_upload *report_upload_begin(struct report_store *s, const char *key, const char *query, int64_t now_wall_ms, struct err *e)
{
	struct upload_claims claims;
	if (check_claims(s, key, query, now_wall_ms, &claims, e) < 0 || reserve_quota(s, key, claims.size, e) < 0)
		return NULL;
	struct report_upload *u = mem_alloc(sizeof *u);
	u->store = s;
	u->key = mem_strdup(key);
	u->size_bytes = claims.size;
	memcpy(u->sha256, claims.sha256, sizeof u->sha256);
	u->digest = EVP_MD_CTX_new();
	EVP_DigestInit_ex(u->digest, EVP_sha256(), NULL);
	u->fd = report_files_create_temporary(s->dir_fd, u->temp_name, sizeof u->temp_name);
	if (u->fd < 0) {
		err_set_errno(e, errno, "cannot create a file in the report store");
		report_upload_abort(u);
		return NULL;
	}
	return u;
}

int report_upload_write(struct report_upload *u, const void *data, size_t len, struct err *e)
{
	if ((int64_t)len > u->size_bytes - u->written)
		return err_set(e, ERR_INVALID, 0, "the body is larger than the %" PRId64 " bytes that the URL was signed for", u->size_bytes);
	if (fsio_write_all(u->fd, data, len) < 0)
		return err_set_errno(e, errno, "cannot write to the report store");
	EVP_DigestUpdate(u->digest, data, len);
	u->written += (int64_t)len;
	return 0;
}

static int check_upload_content(struct report_upload *u, struct err *e)
{
	if (u->written != u->size_bytes)
		return err_set(e, ERR_INVALID, 0, "the body has %" PRId64 " bytes, signed for %" PRId64, u->written, u->size_bytes);
	unsigned char digest[EVP_MAX_MD_SIZE];
	char hex[SIGNATURE_HEX + 1];
	EVP_DigestFinal_ex(u->digest, digest, NULL);
	text_hex(digest, SIGNATURE_HEX / 2, hex);
	return strcmp(hex, u->sha256) == 0 ? 0 : err_set(e, ERR_INVALID, 0, "the body's sha256 is not the one that the URL was signed for");
}

int report_upload_commit(struct report_upload *u, struct err *e)
{
	int rc = check_upload_content(u, e);
	if (rc == 0) {
		int64_t replaced = report_files_size_of(u->store->dir_fd, u->key);
		rc = fsync(u->fd) == 0 ? report_files_place(u->store->dir_fd, u->temp_name, u->key) : -1;
		if (rc < 0)
			err_set_errno(e, errno, "cannot put the report in its place");
		else {
			release_quota(u->store, replaced);
			u->committed = true;
			u->temp_name[0] = '\0';
		}
	}
	report_upload_abort(u);
	return rc;
}

void report_upload_abort(struct report_upload *u)
{
	if (!u)
		return;
	if (u->fd >= 0)
		close(u->fd);
	if (u->temp_name[0])
		unlinkat(u->store->dir_fd, u->temp_name, 0);
	pthread_mutex_lock(&u->store->lock);
	u->store->reserved_bytes -= u->size_bytes;
	if (!u->committed) /* else they now stand for the object */
		u->store->used_bytes -= u->size_bytes;
	pthread_mutex_unlock(&u->store->lock);
	EVP_MD_CTX_free(u->digest);
	free(u->key);
	free(u);
}

int report_store_open(const struct report_store *s, const char *key, int64_t *size_bytes, struct err *e)
{
	if (!report_store_key_valid(key))
		return err_set(e, ERR_NOT_FOUND, 0, "no such report");
	AUTO_FD int fd = report_files_open(s->dir_fd, key, O_RDONLY);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(e, ERR_NOT_FOUND, 0, "no such report; it may have expired");
	*size_bytes = st.st_size;
	return steal_fd(&fd);
}

int report_store_expire(struct report_store *s, int64_t now_wall_ms)
{
	if (s->expiry_seconds == 0)
		return 0;
	int removed = 0;
	int64_t bytes = report_files_remove_older(s->dir_fd, now_wall_ms / 1000 - s->expiry_seconds, &removed);
	release_quota(s, bytes);
	return removed;
}

int64_t report_store_used_bytes(const struct report_store *s)
{
	struct report_store *mutable = (struct report_store *)s;
	pthread_mutex_lock(&mutable->lock);
	int64_t used = s->used_bytes;
	pthread_mutex_unlock(&mutable->lock);
	return used;
}

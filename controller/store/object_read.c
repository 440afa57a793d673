#include "controller/store/object_read.h"

#include "common/base/cleanup.h"
#include "common/base/http.h"
#include "common/base/mem.h"
#include "common/base/text.h"
#include "controller/kube/kube_clock.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES (1 << 20)
#define PIECE_TIMEOUT_MS 30000

struct object_read {
	const struct object_stores *stores;
	char *store, *key_prefix;
	struct link_report report;
	int fd;                   /* in the own store; else -1 */
	struct http_client *http; /* object storage */
	int cancel_fd;
	struct buf piece;
	size_t piece_used;
	int64_t fetched, given;
	EVP_MD_CTX *digest;
};

static int piece_error(const struct object_read *o, int status, struct err *e)
{
	if (status == 404 || status == 410)
		return err_set(e, ERR_NOT_FOUND, 0, "report %s is not in the store \"%s\" any more; it may have expired", o->report.name, o->store);
	if (status == 403)
		return err_set(e, ERR_INTERNAL, 0, "the store \"%s\" refuses the controller's key: let it read objects (s3:GetObject), too", o->store);
	return err_set(e, ERR_RETRY, 0, "the store \"%s\" answered %d", o->store, status);
}

/* Each piece has a signature of its own: keys may be replaced meanwhile. */
static int fetch_piece(struct object_read *o, struct err *e)
{
	int64_t most = o->report.size_bytes - o->fetched < PIECE_BYTES ? o->report.size_bytes - o->fetched : PIECE_BYTES;
	char range[64];
	AUTO_BUF struct buf url;
	buf_init(&url, 16384);
	if (object_store_read_url(o->stores, o->store, o->key_prefix, o->report.name, kube_clock_wall_ms(), &url, e) < 0)
		return -1;
	snprintf(range, sizeof range, "bytes=%" PRId64 "-%" PRId64, o->fetched, o->fetched + most - 1);
	const struct http_header headers[] = {{"Range", range}, {NULL, NULL}};
	struct http_request q = {.method = "GET", .url = buf_str(&url), .headers = headers, .timeout_ms = PIECE_TIMEOUT_MS,
				 .cancel_fd = o->cancel_fd, .max_response_bytes = PIECE_BYTES};
	struct http_response r;
	int rc = http_perform(o->http, &q, &r, e);
	if (rc < 0)
		err_prefix(e, "cannot read report %s from the store \"%s\"", o->report.name, o->store);
	else if (r.status != 206 && !(r.status == 200 && most == o->report.size_bytes))
		rc = piece_error(o, r.status, e);
	else if ((int64_t)r.body.len != most)
		rc = err_set(e, ERR_PROTOCOL, 0, "the store \"%s\" gave %zu bytes of report %s where %" PRId64 " were asked for", o->store, r.body.len,
			     o->report.name, most);
	if (rc == 0) {
		buf_fini(&o->piece);
		o->piece = r.body;
		r.body = (struct buf){0};
		o->piece_used = 0;
		o->fetched += most;
	}
	http_response_fini(&r);
	return rc;
}

static int open_objects(struct object_read *o, struct err *e)
{
	struct http_tls tls = {.ca_file = object_store_ca_file(o->stores, o->store)};
	o->http = http_client_new(&tls, e);
	if (!o->http)
		return -1;
	return o->report.size_bytes > 0 ? fetch_piece(o, e) : 0;
}

static int open_own(struct object_read *o, struct err *e)
{
	AUTO_FREE char *key = mem_printf("%s%s", o->key_prefix, o->report.name);
	int64_t size;
	o->fd = report_store_open(object_stores_own(o->stores), key, &size, e);
	if (o->fd < 0)
		return -1;
	return size == o->report.size_bytes ? 0 : err_set(e, ERR_INTERNAL, 0, "report %s has been changed in the store", o->report.name);
}

struct object_read *object_read_open(const struct object_stores *s, const char *store, const char *key_prefix, const struct link_report *r,
				     int cancel_fd, struct err *e)
{
	struct object_read *o = mem_alloc(sizeof *o);
	*o = (struct object_read){.stores = s, .store = mem_strdup(store), .key_prefix = mem_strdup(key_prefix), .report = *r, .fd = -1,
				  .cancel_fd = cancel_fd, .digest = EVP_MD_CTX_new()};
	EVP_DigestInit_ex(o->digest, EVP_sha256(), NULL);
	enum link_place place = object_store_place(s, store);
	int rc = place == LINK_PLACE_OBJECTS ? open_objects(o, e)
		 : place == LINK_PLACE_OWN_STORE && object_stores_own(s)
			 ? open_own(o, e)
			 : err_set(e, ERR_NOT_FOUND, 0, "this controller has no store \"%s\" any more", store);
	if (rc == 0)
		return o;
	object_read_close(o);
	return NULL;
}

void object_read_close(struct object_read *o)
{
	if (!o)
		return;
	cleanup_fd(&o->fd);
	http_client_free(o->http);
	buf_fini(&o->piece);
	EVP_MD_CTX_free(o->digest);
	free(o->store);
	free(o->key_prefix);
	free(o);
}

static int check_digest(struct object_read *o, struct err *e)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	char hex[65];
	EVP_DigestFinal_ex(o->digest, digest, NULL);
	text_hex(digest, 32, hex);
	return strcmp(hex, o->report.sha256) == 0 ? 0 : err_set(e, ERR_INTERNAL, 0, "report %s has been changed in the store", o->report.name);
}

static ssize_t read_piece(struct object_read *o, void *out, size_t size, struct err *e)
{
	if (o->fd >= 0) {
		ssize_t n = read(o->fd, out, size);
		return n < 0 ? err_set_errno(e, errno, "cannot read report %s", o->report.name) : n;
	}
	if (o->piece_used == o->piece.len && fetch_piece(o, e) < 0)
		return -1;
	size_t left = o->piece.len - o->piece_used, n = left < size ? left : size;
	memcpy(out, o->piece.data + o->piece_used, n);
	o->piece_used += n;
	return (ssize_t)n;
}

ssize_t object_read_next(struct object_read *o, void *out, size_t size, struct err *e)
{
	int64_t left = o->report.size_bytes - o->given;
	if (left == 0)
		return 0;
	ssize_t n = read_piece(o, out, left < (int64_t)size ? (size_t)left : size, e);
	if (n == 0)
		return err_set(e, ERR_INTERNAL, 0, "report %s is shorter than it was", o->report.name);
	if (n < 0)
		return -1;
	EVP_DigestUpdate(o->digest, out, (size_t)n);
	o->given += n;
	/* Before its last bytes go out, so that a wrong one does not look whole. */
	return o->given == o->report.size_bytes && check_digest(o, e) < 0 ? -1 : n;
}

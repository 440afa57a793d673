#include "controller/store/object_store.h"

#include "common/api/reason.h"
#include "common/base/base64.h"
#include "common/base/cleanup.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"
#include "controller/store/sigv4.h"
#include "controller/store/store_config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define READ_URL_EXPIRES_SECONDS 60

struct object_stores {
	struct store_config *items;
	size_t count;
	struct report_store *own;
};

struct object_stores *object_stores_parse(const char *text, size_t len, struct report_store *own, struct err *e)
{
	struct object_stores *s = mem_alloc(sizeof *s);
	s->own = own;
	if (store_config_parse(text, len, &s->items, &s->count, e) < 0) {
		free(s);
		return NULL;
	}
	return s;
}

struct object_stores *object_stores_builtin(struct report_store *own)
{
	struct object_stores *s = mem_alloc(sizeof *s);
	s->own = own;
	s->items = mem_calloc(1, sizeof *s->items);
	s->items[0].name = mem_strdup("default");
	s->items[0].builtin = true;
	s->count = 1;
	return s;
}

void object_stores_free(struct object_stores *s)
{
	if (!s)
		return;
	store_config_free(s->items, s->count);
	free(s);
}

static const struct store_config *find_store(const struct object_stores *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++) {
		if (strcmp(s->items[i].name, name) == 0)
			return &s->items[i];
	}
	return NULL;
}

static void refuse_unknown(const struct object_stores *s, const char *name, struct err *e)
{
	AUTO_BUF struct buf names;
	buf_init(&names, 200); /* of many stores the first */
	for (size_t i = 0; i < s->count; i++)
		buf_printf(&names, "%s%s", i ? ", " : "", s->items[i].name);
	err_set_reason(e, ERR_NOT_FOUND, REASON_StoreNotFound, "spec.output.store: this installation has no store \"%s\"; known are %s", name,
		       buf_str(&names));
}

static const struct store_config *find_or_fail(const struct object_stores *s, const char *name, struct err *e)
{
	const struct store_config *c = find_store(s, name);
	if (!c)
		refuse_unknown(s, name, e);
	else if (c->builtin && !s->own) {
		err_set_reason(e, ERR_NOT_FOUND, REASON_StoreNotFound,
			       "spec.output.store: \"%s\" is the controller's own store, and it was started without one (REPORTS_FOLDER)", name);
		c = NULL;
	}
	return c;
}

int object_stores_check(const struct object_stores *s, const char *store, struct err *e)
{
	return find_or_fail(s, store, e) ? 0 : -1;
}

/* The mounted Secret's files; read at each use because the kubelet replaces them when the Secret changes. */
struct key_files {
	char access_key_id[160], secret_access_key[200], session_token[4096];
};

static int read_key(const char *folder, const char *name, bool required, char *out, size_t size, struct err *e)
{
	AUTO_FREE char *path = mem_printf("%s/%s", folder, name);
	out[0] = '\0';
	ssize_t n = fsio_read_small(AT_FDCWD, path, out, size);
	if (n <= 0 && required)
		return err_set(e, ERR_RETRY, 0, "cannot read the store's key %s", path);
	if (n >= (ssize_t)size - 1)
		return err_set(e, ERR_RETRY, 0, "the store's key %s is longer than %zu bytes", path, size - 2); /* the Secret can be mended */
	return 0;
}

static int read_keys(const struct store_config *c, struct key_files *k, struct err *e)
{
	if (read_key(c->credentials_folder, "accessKeyId", true, k->access_key_id, sizeof k->access_key_id, e) < 0 ||
	    read_key(c->credentials_folder, "secretAccessKey", true, k->secret_access_key, sizeof k->secret_access_key, e) < 0)
		return -1;
	return read_key(c->credentials_folder, "sessionToken", false, k->session_token, sizeof k->session_token, e);
}

/* "bucket.host" + "/prefix/key" or "host" + "/bucket/prefix/key". */
static void locate(const struct store_config *c, const char *host, const char *key_prefix, const char *name, char **out_host, char **out_path)
{
	const char *prefix = c->prefix ? c->prefix : "";
	*out_host = c->path_style ? mem_strdup(host) : mem_printf("%s.%s", c->bucket, host);
	*out_path = c->path_style ? mem_printf("/%s/%s%s%s", c->bucket, prefix, key_prefix, name)
				  : mem_printf("/%s%s%s", prefix, key_prefix, name);
}

/* Every server takes a signed URL's payload as "UNSIGNED-PAYLOAD"; content-length and S3's own checksum header, both signed, bind the
 * URL to the report (a server that does not know the header still wants it sent as it was signed). */
static int grant_s3(const struct store_config *c, const char *key_prefix, const struct link_report *r, int64_t now_ms, struct buf *url,
		    struct err *e)
{
	struct key_files keys;
	if (read_keys(c, &keys, e) < 0)
		return err_prefix(e, "store \"%s\"", c->name);
	AUTO_FREE char *host = NULL;
	AUTO_FREE char *path = NULL;
	locate(c, c->host, key_prefix, r->name, &host, &path);
	char length[24];
	snprintf(length, sizeof length, "%" PRId64, r->size_bytes);
	AUTO_FREE char *checksum = base64_from_hex(r->sha256);
	if (!checksum)
		return err_set(e, ERR_INVALID, 0, "report %s: its sha256 is none", r->name);
	struct sigv4_request q = {
		.method = "PUT", .scheme = c->scheme, .host = host, .path = path, .region = c->region,
		.headers = {{"content-length", length}, {"content-type", r->media_type}, {"x-amz-checksum-sha256", checksum}},
		.payload_sha256 = "UNSIGNED-PAYLOAD", .wall_ms = now_ms, .expires_seconds = UPLOAD_URL_EXPIRES_SECONDS,
	};
	struct sigv4_credentials credentials = {keys.access_key_id, keys.secret_access_key, keys.session_token};
	int rc = sigv4_presign(&q, &credentials, url, e);
	explicit_bzero(&keys, sizeof keys);
	return rc;
}

int object_store_grant(const struct object_stores *s, const char *store, const char *key_prefix, const struct link_report *r,
		       int64_t now_wall_ms, struct buf *url, int64_t *expires_wall_ms, struct err *e)
{
	const struct store_config *c = find_or_fail(s, store, e);
	if (!c)
		return -1;
	int64_t expires = now_wall_ms + UPLOAD_URL_EXPIRES_SECONDS * 1000;
	int rc;
	if (c->builtin) {
		AUTO_FREE char *key = mem_printf("%s%s", key_prefix, r->name);
		rc = report_store_sign(s->own, key, r->size_bytes, r->sha256, expires, url, e);
	} else {
		rc = grant_s3(c, key_prefix, r, now_wall_ms, url, e);
	}
	if (rc == 0)
		*expires_wall_ms = expires;
	return rc;
}

int object_store_read_url(const struct object_stores *s, const char *store, const char *key_prefix, const char *report_name,
			  int64_t now_wall_ms, struct buf *url, struct err *e)
{
	const struct store_config *c = find_or_fail(s, store, e);
	struct key_files keys;
	if (!c)
		return -1;
	if (c->builtin)
		return err_set(e, ERR_INVALID, 0, "store \"%s\" is the controller's own", store);
	if (read_keys(c, &keys, e) < 0)
		return err_prefix(e, "store \"%s\"", c->name);
	AUTO_FREE char *host = NULL;
	AUTO_FREE char *path = NULL;
	locate(c, c->host, key_prefix, report_name, &host, &path);
	struct sigv4_request q = {
		.method = "GET", .scheme = c->scheme, .host = host, .path = path, .region = c->region, .payload_sha256 = "UNSIGNED-PAYLOAD",
		.wall_ms = now_wall_ms, .expires_seconds = READ_URL_EXPIRES_SECONDS,
	};
	struct sigv4_credentials credentials = {keys.access_key_id, keys.secret_access_key, keys.session_token};
	int rc = sigv4_presign(&q, &credentials, url, e);
	explicit_bzero(&keys, sizeof keys);
	return rc;
}

const char *object_store_ca_file(const struct object_stores *s, const char *store)
{
	const struct store_config *c = find_store(s, store);
	return c ? c->ca_file : NULL;
}

struct report_store *object_stores_own(const struct object_stores *s)
{
	return s->own;
}

enum link_place object_store_place(const struct object_stores *s, const char *store)
{
	const struct store_config *c = find_store(s, store);
	return !c ? LINK_PLACE_UNKNOWN : c->builtin ? LINK_PLACE_OWN_STORE : LINK_PLACE_OBJECTS;
}

int object_store_public_url(const struct object_stores *s, const char *store, const char *key_prefix, const char *report_name,
			    struct buf *url, struct err *e)
{
	const struct store_config *c = find_or_fail(s, store, e);
	if (!c)
		return -1;
	if (c->builtin) {
		AUTO_FREE char *key = mem_printf("%s%s", key_prefix, report_name);
		return report_store_public_url(s->own, key, url);
	}
	AUTO_FREE char *host = NULL;
	AUTO_FREE char *path = NULL;
	locate(c, c->public_host, key_prefix, report_name, &host, &path);
	buf_printf(url, "%s://%s", c->public_scheme, host);
	sigv4_encode(url, path, true);
	return url->full ? err_set(e, ERR_INVALID, 0, "the report's URL is too long") : 0;
}

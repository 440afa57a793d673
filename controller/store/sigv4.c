#include "controller/store/sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>
#include <time.h>

#define DIGEST_SIZE 32
#define SCOPE_SIZE 160
#define STAMP_SIZE 24

struct signing {
	const struct sigv4_request *request;
	const struct sigv4_credentials *credentials;
	char stamp[STAMP_SIZE];  /* 20130524T000000Z */
	char scope[SCOPE_SIZE];  /* 20130524/us-east-1/s3/aws4_request */
};

void sigv4_encode(struct buf *out, const char *s, bool keep_slash)
{
	static const char unreserved[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
	for (; *s; s++) {
		if (strchr(unreserved, *s) || (keep_slash && *s == '/'))
			buf_putc(out, *s);
		else
			buf_printf(out, "%%%02X", (unsigned char)*s);
	}
}

static void append_hex(struct buf *out, const unsigned char digest[DIGEST_SIZE])
{
	for (int i = 0; i < DIGEST_SIZE; i++)
		buf_printf(out, "%02x", digest[i]);
}

static void hmac(const void *key, size_t key_len, const char *text, unsigned char out[DIGEST_SIZE])
{
	unsigned int len = DIGEST_SIZE;
	HMAC(EVP_sha256(), key, (int)key_len, (const unsigned char *)text, strlen(text), out, &len);
}

static int signing_init(struct signing *s, const struct sigv4_request *q, const struct sigv4_credentials *c, struct err *e)
{
	*s = (struct signing){.request = q, .credentials = c};
	time_t seconds = (time_t)(q->wall_ms / 1000);
	struct tm tm;
	gmtime_r(&seconds, &tm);
	strftime(s->stamp, sizeof s->stamp, "%Y%m%dT%H%M%SZ", &tm);
	int n = snprintf(s->scope, sizeof s->scope, "%.8s/%s/s3/aws4_request", s->stamp, q->region);
	if (n < 0 || (size_t)n >= sizeof s->scope)
		return err_set(e, ERR_INVALID, 0, "the store's region is too long");
	return 0;
}

static void append_signed_headers(const struct sigv4_request *q, struct buf *out)
{
	bool host_done = false;
	for (const struct sigv4_header *h = q->headers; h < q->headers + SIGV4_MAX_HEADERS && h->name; h++) {
		if (!host_done && strcmp(h->name, "host") > 0) {
			buf_puts(out, "host;");
			host_done = true;
		}
		buf_printf(out, "%s;", h->name);
	}
	if (!host_done)
		buf_puts(out, "host;");
	if (out->len > 0 && !out->full)
		out->data[--out->len] = '\0'; /* the last ';' */
}

static void append_canonical_headers(const struct sigv4_request *q, struct buf *out)
{
	bool host_done = false;
	for (const struct sigv4_header *h = q->headers; h < q->headers + SIGV4_MAX_HEADERS && h->name; h++) {
		if (!host_done && strcmp(h->name, "host") > 0) {
			buf_printf(out, "host:%s\n", q->host);
			host_done = true;
		}
		buf_printf(out, "%s:%s\n", h->name, h->value);
	}
	if (!host_done)
		buf_printf(out, "host:%s\n", q->host);
}

/* The query without the signature, its keys in byte order as the canonical request wants them. */
static void append_query(const struct signing *s, const char *signed_headers, struct buf *out)
{
	buf_puts(out, "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=");
	sigv4_encode(out, s->credentials->access_key_id, false);
	buf_puts(out, "%2F");
	sigv4_encode(out, s->scope, false);
	buf_printf(out, "&X-Amz-Date=%s&X-Amz-Expires=%lld", s->stamp, (long long)s->request->expires_seconds);
	if (s->credentials->session_token && *s->credentials->session_token) {
		buf_puts(out, "&X-Amz-Security-Token=");
		sigv4_encode(out, s->credentials->session_token, false);
	}
	buf_puts(out, "&X-Amz-SignedHeaders=");
	sigv4_encode(out, signed_headers, false);
}

static void append_canonical_request(const struct signing *s, const char *query, const char *signed_headers, struct buf *out)
{
	const struct sigv4_request *q = s->request;
	buf_printf(out, "%s\n", q->method);
	sigv4_encode(out, q->path, true);
	buf_printf(out, "\n%s\n", query);
	append_canonical_headers(q, out);
	buf_printf(out, "\n%s\n%s", signed_headers, q->payload_sha256);
}

static void append_string_to_sign(const struct signing *s, const struct buf *canonical, struct buf *out)
{
	unsigned char digest[DIGEST_SIZE];
	EVP_Digest(buf_str(canonical), canonical->len, digest, NULL, EVP_sha256(), NULL);
	buf_printf(out, "AWS4-HMAC-SHA256\n%s\n%s\n", s->stamp, s->scope);
	append_hex(out, digest);
}

static void append_signature(const struct signing *s, const char *string_to_sign, struct buf *out)
{
	char secret[256], date[9];
	unsigned char key[DIGEST_SIZE], next[DIGEST_SIZE];
	int n = snprintf(secret, sizeof secret, "AWS4%s", s->credentials->secret_access_key);
	snprintf(date, sizeof date, "%.8s", s->stamp);
	hmac(secret, (size_t)n < sizeof secret ? (size_t)n : sizeof secret - 1, date, key);
	hmac(key, sizeof key, s->request->region, next);
	hmac(next, sizeof next, "s3", key);
	hmac(key, sizeof key, "aws4_request", next);
	hmac(next, sizeof next, string_to_sign, key);
	append_hex(out, key);
	OPENSSL_cleanse(secret, sizeof secret);
	OPENSSL_cleanse(next, sizeof next);
}

int sigv4_presign(const struct sigv4_request *q, const struct sigv4_credentials *c, struct buf *out, struct err *e)
{
	struct signing s;
	if (signing_init(&s, q, c, e) < 0)
		return -1;
	AUTO_BUF struct buf names = {0}, query = {0}, canonical = {0}, to_sign = {0};
	buf_init(&names, 512);
	buf_init(&query, 16384);
	buf_init(&canonical, 32768);
	buf_init(&to_sign, 512);
	append_signed_headers(q, &names);
	append_query(&s, buf_str(&names), &query);
	append_canonical_request(&s, buf_str(&query), buf_str(&names), &canonical);
	append_string_to_sign(&s, &canonical, &to_sign);
	buf_printf(out, "%s://%s", q->scheme, q->host);
	sigv4_encode(out, q->path, true);
	buf_printf(out, "?%s&X-Amz-Signature=", buf_str(&query));
	append_signature(&s, buf_str(&to_sign), out);
	if (names.full || query.full || canonical.full || to_sign.full || out->full)
		return err_set(e, ERR_INVALID, 0, "the signed URL is too long");
	return 0;
}

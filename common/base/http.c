#include "common/base/http.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DEFAULT_RESPONSE_MAX (8u << 20)
#define ERROR_BODY_MAX (64u << 10)
#define CONNECT_TIMEOUT_MS 10000
#define WAIT_MOST_MS 60000

/* The handle runs inside a multi handle of its own, so that a wait can also watch the cancel descriptor. */
struct http_client {
	CURL *easy;
	CURLM *multi;
	char *ca_file, *ca_pem, *cert_file, *key_file, *cert_pem, *key_pem, *server_name;
	bool insecure;
};

struct transfer {
	const struct http_request *request;
	struct http_response *response;
	struct http_client *client;
	struct err *e;
	bool failed;              /* *e was set by a callback */
	int64_t last_byte_ms;
	char error_text[CURL_ERROR_SIZE];
};

int http_global_init(struct err *e)
{
	CURLcode rc = curl_global_init(CURL_GLOBAL_DEFAULT);
	return rc == CURLE_OK ? 0 : err_set(e, ERR_INTERNAL, (int)rc, "cannot start libcurl: %s", curl_easy_strerror(rc));
}

struct http_client *http_client_new(const struct http_tls *tls, struct err *e)
{
	struct http_client *c = mem_alloc(sizeof *c);
	c->easy = curl_easy_init();
	c->multi = curl_multi_init();
	if (!c->easy || !c->multi) {
		http_client_free(c);
		err_set(e, ERR_INTERNAL, 0, "cannot make a libcurl handle");
		return NULL;
	}
	if (tls) {
		c->ca_file = mem_strdup(tls->ca_file);
		c->ca_pem = mem_strdup(tls->ca_pem);
		c->cert_file = mem_strdup(tls->client_cert_file);
		c->key_file = mem_strdup(tls->client_key_file);
		c->cert_pem = mem_strdup(tls->client_cert_pem);
		c->key_pem = mem_strdup(tls->client_key_pem);
		c->server_name = mem_strdup(tls->server_name);
		c->insecure = tls->insecure_skip_verify;
	}
	return c;
}

void http_client_free(struct http_client *c)
{
	if (!c)
		return;
	curl_easy_cleanup(c->easy);
	curl_multi_cleanup(c->multi);
	free(c->ca_file);
	free(c->ca_pem);
	free(c->cert_file);
	free(c->key_file);
	free(c->cert_pem);
	free(c->key_pem);
	free(c->server_name);
	free(c);
}

static size_t abort_with(struct transfer *t)
{
	t->failed = true;
	return 0; /* libcurl: fewer bytes than given ends the transfer */
}

static size_t receive_http_body(char *data, size_t one, size_t len, void *ctx)
{
	(void)one;
	struct transfer *t = ctx;
	t->last_byte_ms = clock_mono_ms();
	long status = 0;
	curl_easy_getinfo(t->client->easy, CURLINFO_RESPONSE_CODE, &status);
	if (t->request->on_body && status >= 200 && status < 300) {
		struct err e = ERR_INIT;
		if (t->request->on_body(t->request->on_body_ctx, data, len, &e) == 0)
			return len;
		if (e.kind == ERR_NONE)
			err_set(&e, ERR_CANCELED, 0, "ended by the reader");
		if (t->e)
			*t->e = e;
		return len ? abort_with(t) : 0;
	}
	if (buf_append(&t->response->body, data, len) == 0)
		return len;
	if (t->request->on_body)
		return len; /* an error's body is for the message only: its start is enough */
	err_set(t->e, ERR_PROTOCOL, EMSGSIZE, "answer is larger than %zu bytes", t->response->body.max);
	return abort_with(t);
}

static void copy_value(char *out, size_t size, const char *value, size_t len)
{
	while (len > 0 && (*value == ' ' || *value == '\t')) {
		value++;
		len--;
	}
	while (len > 0 && (value[len - 1] == '\r' || value[len - 1] == '\n' || value[len - 1] == ' '))
		len--;
	if (len >= size)
		len = size - 1;
	memcpy(out, value, len);
	out[len] = '\0';
}

/* Retry-After in seconds (RFC 9110, 10.2.3); the date form is rare for API servers and counts as absent. */
static int64_t parse_retry_after(const char *value)
{
	char *end;
	errno = 0;
	long long seconds = strtoll(value, &end, 10);
	return errno || end == value || *end || seconds < 0 || seconds > 86400 ? -1 : seconds * 1000;
}

static size_t on_header(char *line, size_t one, size_t len, void *ctx)
{
	(void)one;
	struct transfer *t = ctx;
	struct http_response *r = t->response;
	t->last_byte_ms = clock_mono_ms();
	const char *colon = memchr(line, ':', len);
	if (!colon)
		return len;
	size_t name_len = (size_t)(colon - line), value_len = len - name_len - 1;
	if (name_len == 4 && strncasecmp(line, "etag", 4) == 0)
		copy_value(r->etag, sizeof r->etag, colon + 1, value_len);
	else if (name_len == 12 && strncasecmp(line, "content-type", 12) == 0)
		copy_value(r->content_type, sizeof r->content_type, colon + 1, value_len);
	else if (name_len == 11 && strncasecmp(line, "retry-after", 11) == 0) {
		char value[32];
		copy_value(value, sizeof value, colon + 1, value_len);
		r->retry_after_ms = parse_retry_after(value);
	} else if (name_len == 4 && strncasecmp(line, "date", 4) == 0) {
		char value[64];
		copy_value(value, sizeof value, colon + 1, value_len);
		time_t seconds = curl_getdate(value, NULL);
		r->date_wall_ms = seconds > 0 ? (int64_t)seconds * 1000 : 0;
	}
	return len;
}

static size_t on_read(char *out, size_t one, size_t len, void *ctx)
{
	struct transfer *t = ctx;
	t->last_byte_ms = clock_mono_ms();
	return fread(out, 1, one * len, t->request->body_file);
}

/* For a connection that libcurl found dead and wants to send the body over again. */
static int on_seek(void *ctx, curl_off_t offset, int origin)
{
	struct transfer *t = ctx;
	return fseeko(t->request->body_file, offset, origin) == 0 ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

static void set_blob(CURL *h, CURLoption option, const char *pem)
{
	struct curl_blob blob = {.data = (void *)pem, .len = strlen(pem), .flags = CURL_BLOB_COPY};
	curl_easy_setopt(h, option, &blob);
}

static void set_tls(struct http_client *c)
{
	CURL *h = c->easy;
	if (c->ca_file)
		curl_easy_setopt(h, CURLOPT_CAINFO, c->ca_file);
	if (c->ca_pem)
		set_blob(h, CURLOPT_CAINFO_BLOB, c->ca_pem);
	if (c->cert_file)
		curl_easy_setopt(h, CURLOPT_SSLCERT, c->cert_file);
	if (c->key_file)
		curl_easy_setopt(h, CURLOPT_SSLKEY, c->key_file);
	if (c->cert_pem)
		set_blob(h, CURLOPT_SSLCERT_BLOB, c->cert_pem);
	if (c->key_pem)
		set_blob(h, CURLOPT_SSLKEY_BLOB, c->key_pem);
	if (c->insecure) {
		curl_easy_setopt(h, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(h, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	curl_easy_setopt(h, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
}

/* To verify the certificate for a name that is not the URL's host, the URL gets that name and the connection goes to
 * the host all the same. */
static int set_url(struct http_client *c, const struct http_request *q, struct curl_slist **connect_to, struct err *e)
{
	if (!c->server_name) {
		curl_easy_setopt(c->easy, CURLOPT_URL, q->url);
		return 0;
	}
	CURLU *u = curl_url();
	char *host = NULL, *port = NULL, *url = NULL;
	int rc = -1;
	if (curl_url_set(u, CURLUPART_URL, q->url, CURLU_PATH_AS_IS) || curl_url_get(u, CURLUPART_HOST, &host, 0) ||
	    curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) || curl_url_set(u, CURLUPART_HOST, c->server_name, 0) ||
	    curl_url_get(u, CURLUPART_URL, &url, 0)) {
		err_set(e, ERR_INVALID, 0, "not a usable URL");
	} else {
		AUTO_FREE char *rule = mem_printf("%s:%s:%s:%s", c->server_name, port, host, port);
		*connect_to = curl_slist_append(NULL, rule);
		curl_easy_setopt(c->easy, CURLOPT_CONNECT_TO, *connect_to);
		curl_easy_setopt(c->easy, CURLOPT_URL, url);
		rc = 0;
	}
	curl_free(host);
	curl_free(port);
	curl_free(url);
	curl_url_cleanup(u);
	return rc;
}

static bool breaks_lines(const char *s)
{
	return s && s[strcspn(s, "\r\n")] != '\0';
}

static int check_headers(const struct http_request *q, struct err *e)
{
	bool bad = breaks_lines(q->bearer_token);
	for (const struct http_header *h = q->headers; h && h->name; h++)
		bad = bad || breaks_lines(h->name) || breaks_lines(h->value);
	return bad ? err_set(e, ERR_INVALID, 0, "a header of the request has a line break") : 0;
}

static struct curl_slist *make_headers(const struct http_request *q)
{
	struct curl_slist *list = curl_slist_append(NULL, "Expect:"); /* no 100-continue: it costs a round trip */
	for (const struct http_header *h = q->headers; h && h->name; h++) {
		AUTO_FREE char *line = mem_printf("%s: %s", h->name, h->value);
		list = curl_slist_append(list, line);
	}
	if (q->bearer_token) {
		AUTO_FREE char *line = mem_printf("Authorization: Bearer %s", q->bearer_token);
		list = curl_slist_append(list, line);
	}
	return list;
}

static void set_body(struct transfer *t)
{
	const struct http_request *q = t->request;
	CURL *h = t->client->easy;
	if (q->body_file) {
		curl_easy_setopt(h, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(h, CURLOPT_READFUNCTION, on_read);
		curl_easy_setopt(h, CURLOPT_READDATA, t);
		curl_easy_setopt(h, CURLOPT_SEEKFUNCTION, on_seek);
		curl_easy_setopt(h, CURLOPT_SEEKDATA, t);
		curl_easy_setopt(h, CURLOPT_INFILESIZE_LARGE, (curl_off_t)q->body_len);
	} else if (q->body) {
		curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->body_len);
		curl_easy_setopt(h, CURLOPT_POSTFIELDS, q->body);
	}
	curl_easy_setopt(h, CURLOPT_CUSTOMREQUEST, q->method);
	if (strcmp(q->method, "HEAD") == 0)
		curl_easy_setopt(h, CURLOPT_NOBODY, 1L);
}

static void set_common(struct transfer *t)
{
	CURL *h = t->client->easy;
	curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(h, CURLOPT_PATH_AS_IS, 1L); /* as it was signed, and no segment "..", whoever named it, leads elsewhere */
	curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(h, CURLOPT_USERAGENT, "drdotnet/" DRDOTNET_VERSION);
	curl_easy_setopt(h, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(h, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
	curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, (long)t->request->timeout_ms);
	curl_easy_setopt(h, CURLOPT_ERRORBUFFER, t->error_text);
	curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, receive_http_body);
	curl_easy_setopt(h, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(h, CURLOPT_HEADERDATA, t);
	curl_easy_setopt(h, CURLOPT_BUFFERSIZE, 16384L);
}

static int curl_failed(struct transfer *t, CURLcode rc)
{
	if (t->failed)
		return -1;
	enum err_kind kind;
	switch (rc) {
	case CURLE_OPERATION_TIMEDOUT:
		kind = ERR_TIMEOUT;
		break;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CERTPROBLEM:
		kind = ERR_DENIED;
		break;
	case CURLE_UNSUPPORTED_PROTOCOL: /* of the URL, or what came is no HTTP */
		kind = strncmp(t->request->url, "http", 4) == 0 ? ERR_PROTOCOL : ERR_INVALID;
		break;
	case CURLE_URL_MALFORMAT:
		kind = ERR_INVALID;
		break;
	case CURLE_OUT_OF_MEMORY: /* libcurl's word for a header line beyond its limit of 100 KB */
		return err_set(t->e, ERR_PROTOCOL, (int)rc, "a header of the answer is too long");
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_BAD_CONTENT_ENCODING:
		kind = ERR_PROTOCOL;
		break;
	default:
		kind = ERR_RETRY;
	}
	return err_set(t->e, kind, (int)rc, "%s", t->error_text[0] ? t->error_text : curl_easy_strerror(rc));
}

/* How long the next wait may be before the stall limit must be looked at. */
static int stall_wait_ms(const struct transfer *t, int64_t now_ms)
{
	int64_t left = WAIT_MOST_MS; /* libcurl's own times end the wait earlier */
	if (t->request->stall_timeout_ms > 0 && t->last_byte_ms + t->request->stall_timeout_ms - now_ms < left)
		left = t->last_byte_ms + t->request->stall_timeout_ms - now_ms;
	return left < 0 ? 0 : (int)left;
}

static bool canceled(const struct http_request *q)
{
	struct pollfd p = {.fd = q->cancel_fd, .events = POLLIN};
	return q->cancel_fd >= 0 && poll(&p, 1, 0) > 0;
}

/* Drives the transfer to its end. */
static int run_transfer(struct transfer *t)
{
	CURLM *m = t->client->multi;
	for (;;) {
		int running = 0, left;
		CURLMcode mc = curl_multi_perform(m, &running);
		if (mc != CURLM_OK)
			return err_set(t->e, ERR_INTERNAL, (int)mc, "%s", curl_multi_strerror(mc));
		CURLMsg *msg;
		while ((msg = curl_multi_info_read(m, &left))) {
			if (msg->msg == CURLMSG_DONE)
				return msg->data.result == CURLE_OK ? 0 : curl_failed(t, msg->data.result);
		}
		if (canceled(t->request))
			return err_set(t->e, ERR_CANCELED, 0, "canceled");
		int64_t now = clock_mono_ms();
		if (t->request->stall_timeout_ms > 0 && now - t->last_byte_ms >= t->request->stall_timeout_ms)
			return err_set(t->e, ERR_TIMEOUT, 0, "no byte for %lld ms", (long long)(now - t->last_byte_ms));
		struct curl_waitfd extra = {.fd = t->request->cancel_fd, .events = CURL_WAIT_POLLIN};
		curl_multi_poll(m, &extra, t->request->cancel_fd >= 0 ? 1 : 0, stall_wait_ms(t, now), NULL);
	}
}

int http_perform(struct http_client *c, const struct http_request *q, struct http_response *r, struct err *e)
{
	*r = (struct http_response){.retry_after_ms = -1};
	size_t max = q->max_response_bytes ? q->max_response_bytes : DEFAULT_RESPONSE_MAX;
	buf_init(&r->body, q->on_body ? ERROR_BODY_MAX : max);
	struct transfer t = {.request = q, .response = r, .client = c, .e = e, .last_byte_ms = clock_mono_ms()};
	struct curl_slist *connect_to = NULL;
	curl_easy_reset(c->easy); /* keeps connections and the TLS session cache */
	set_common(&t);
	set_tls(c);
	int rc = check_headers(q, e) < 0 ? -1 : set_url(c, q, &connect_to, e);
	struct curl_slist *headers = make_headers(q);
	if (rc == 0) {
		set_body(&t);
		curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, headers);
		curl_multi_add_handle(c->multi, c->easy);
		rc = run_transfer(&t);
		long status = 0;
		curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
		r->status = (int)status;
		curl_multi_remove_handle(c->multi, c->easy);
	}
	curl_slist_free_all(headers);
	curl_slist_free_all(connect_to);
	return rc;
}

void http_response_fini(struct http_response *r)
{
	if (r)
		buf_fini(&r->body);
}

enum err_kind http_status_kind(int status)
{
	switch (status) {
	case 400:
	case 422:
		return ERR_INVALID;
	case 401:
	case 403:
		return ERR_DENIED;
	case 404:
		return ERR_NOT_FOUND;
	case 409:
		return ERR_CONFLICT;
	case 410:
		return ERR_GONE;
	case 408:
	case 429:
		return ERR_RETRY;
	default:
		return status >= 500 ? ERR_RETRY : ERR_PROTOCOL;
	}
}

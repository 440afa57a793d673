#include "agent/jobs/upload.h"

#include "common/base/base64.h"
#include "common/base/cleanup.h"
#include "common/base/http.h"
#include "common/base/mem.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define CODE_SIZE 64

/* Opens a second stream on the file, so that the caller's descriptor keeps its place. */
static FILE *open_upload_file(int fd, const struct link_report *r, struct err *e)
{
	struct stat st;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size != r->size_bytes) {
		err_set(e, ERR_INVALID, 0, "report %s is not what was announced any more", r->name);
		return NULL;
	}
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	FILE *f = fopen(path, "rbe");
	if (!f)
		err_set_errno(e, errno, "cannot read report %s", r->name);
	return f;
}

/* S3's error bodies have <Code>AccessDenied</Code>; the code is letters only, all else is not shown. */
static void find_s3_code(const char *body, char out[CODE_SIZE])
{
	out[0] = '\0';
	const char *start = strstr(body, "<Code>");
	if (!start)
		return;
	start += strlen("<Code>");
	size_t n = 0;
	while (n < CODE_SIZE - 1 && isalnum((unsigned char)start[n]))
		n++;
	memcpy(out, start, n);
	out[n] = '\0';
}

/* S3 answers 400 for some things that are no fault of the request: what a slow or torn body gave, and a session token that has run out
 * (docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html). */
static enum err_kind upload_error_kind(int status, const char *code)
{
	static const struct {
		const char *code;
		enum err_kind kind;
	} known[] = {
		{"RequestTimeout", ERR_RETRY}, {"IncompleteBody", ERR_RETRY}, {"BadDigest", ERR_RETRY},
		{"ExpiredToken", ERR_DENIED}, {"InvalidToken", ERR_DENIED}, {"TokenRefreshRequired", ERR_DENIED},
		{"AuthorizationQueryParametersError", ERR_DENIED}, /* such as another region's */
	};
	for (size_t i = 0; status == 400 && i < sizeof known / sizeof known[0]; i++) {
		if (strcmp(code, known[i].code) == 0)
			return known[i].kind;
	}
	return status == 413 ? ERR_INVALID : http_status_kind(status);
}

/* What to do about it, where the code alone does not say so. */
static const char *hint_for(int status, const char *code)
{
	static const struct {
		const char *code, *hint;
	} known[] = {
		{"NoSuchBucket", "create the bucket, or correct the store's configuration"},
		{"RequestTimeTooSkewed", "the clocks of the controller and of the store differ too much"},
		{"SignatureDoesNotMatch", "correct the store's secret key, or its region"},
		{"InvalidAccessKeyId", "correct the store's access key"},
		{"AccessDenied", "the store's keys may not write there, or its clock is not the controller's"},
		{"ReportStoreFull", "give the controller's report store more room"},
		{"ReportStoreFailed", "see the controller's log"},
		{"EntityTooLarge", "it takes no report of this size"},
	};
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		if (strcmp(code, known[i].code) == 0)
			return known[i].hint;
	}
	return status == 413 ? "it takes no report of this size" : NULL;
}

static int answer_to_error(const struct link_report *r, const struct http_response *answer, struct err *e)
{
	if (answer->status >= 200 && answer->status < 300)
		return 0;
	char code[CODE_SIZE];
	find_s3_code(buf_str(&answer->body), code);
	const char *hint = hint_for(answer->status, code);
	return err_set(e, upload_error_kind(answer->status, code), answer->status, "the store answered %d%s%s to report %s%s%s", answer->status,
		       code[0] ? " " : "", code, r->name, hint ? ": " : "", hint ? hint : "");
}

int upload_put(const char *url, int fd, const struct link_report *r, const struct upload_options *o, struct err *e)
{
	AUTO_FILE FILE *file = open_upload_file(fd, r, e);
	if (!file)
		return -1;
	struct http_tls tls = {.ca_file = o->ca_file};
	struct http_client *client = http_client_new(&tls, e);
	if (!client)
		return -1;
	AUTO_FREE char *checksum = base64_from_hex(r->sha256);
	struct http_header headers[] = {{"Content-Type", r->media_type}, {"x-amz-checksum-sha256", checksum ? checksum : ""}, {NULL, NULL}};
	struct http_request q = {
		.method = "PUT", .url = url, .headers = headers, .body_file = file, .body_len = (size_t)r->size_bytes,
		.timeout_ms = o->timeout_ms, .stall_timeout_ms = o->stall_timeout_ms, .cancel_fd = o->cancel_fd, .max_response_bytes = 64 << 10,
	};
	struct http_response answer;
	int rc = http_perform(client, &q, &answer, e);
	if (o->retry_after_ms && answer.retry_after_ms >= 0)
		*o->retry_after_ms = answer.retry_after_ms;
	if (rc == 0)
		rc = answer_to_error(r, &answer, e);
	else
		err_prefix(e, "cannot upload report %s", r->name);
	http_response_fini(&answer);
	http_client_free(client);
	return rc;
}

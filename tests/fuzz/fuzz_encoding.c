/* Base64, times, tokens and URLs. The first byte chooses. */
#include "common/base/base64.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/http.h"
#include "common/base/http_url.h"
#include "controller/store/sigv4.h"
#include "controller/kube/token_review.h"
#include "tests/fuzz/fuzz_tools.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FIRST_MS INT64_C(-62000000000000) /* in the years 5 and 9998 */
#define LAST_MS INT64_C(253300000000000)

static void decode_base64(const char *text, size_t len)
{
	size_t n = 0;
	AUTO_FREE char *bytes = base64_decode(text, 4096, &n);
	AUTO_FREE char *again = bytes ? base64_encode(bytes, n) : NULL;
	size_t m = 0;
	AUTO_FREE char *once_more = again ? base64_decode(again, 8192, &m) : NULL;
	check(!bytes || (bytes[n] == '\0' && once_more && m == n && memcmp(once_more, bytes, n) == 0));
	AUTO_FREE char *url = base64_decode_url(text, len, 4096, &n);
	check(!url || url[n] == '\0');
	free(base64_from_hex(text));
}

static void parse_time(const char *text)
{
	char again[CLOCK_RFC3339_SIZE];
	int64_t ms, same;
	if (clock_parse_rfc3339(text, &ms) < 0 || ms < FIRST_MS || ms > LAST_MS)
		return;
	check(clock_parse_rfc3339(clock_rfc3339(ms, again), &same) == 0 && same <= ms && ms - same < 1000);
	check(clock_parse_rfc3339(clock_rfc3339_micro(ms * 1000, again), &same) == 0 && same == ms);
}

/* Nothing but what a URL may have gets into one. */
static void build_url(const char *text)
{
	AUTO_BUF struct buf url;
	buf_init(&url, 1 << 20);
	if (http_url_begin(&url, "https://h") == 0 && http_url_segment(&url, text) == 0)
		http_url_query(&url, text, text);
	for (const char *s = buf_str(&url); *s; s++)
		check(isalnum((unsigned char)*s) || strchr("-._~%:/?&=", *s));
	AUTO_BUF struct buf encoded;
	buf_init(&encoded, 1 << 20);
	sigv4_encode(&encoded, text, false);
	for (const char *s = buf_str(&encoded); *s; s++)
		check(isalnum((unsigned char)*s) || strchr("-._~%", *s));
}

/* A key of any name gives a URL of one line whose host is the one that was meant, and the same each time. */
static void sign(const char *text)
{
	static const struct sigv4_credentials who = {"AKID", "secret", "token"};
	const struct sigv4_request q = {.method = "PUT", .scheme = "https", .host = "h:9", .path = text, .region = "r",
					.headers = {{"content-type", text}}, .payload_sha256 = "UNSIGNED-PAYLOAD", .wall_ms = 1790000000000,
					.expires_seconds = 900};
	AUTO_BUF struct buf once, twice;
	buf_init(&once, 1 << 20);
	buf_init(&twice, 1 << 20);
	check(sigv4_presign(&q, &who, &once, NULL) == sigv4_presign(&q, &who, &twice, NULL));
	check(strcmp(buf_str(&once), buf_str(&twice)) == 0);
	for (const char *s = buf_str(&once); *s; s++)
		check(isalnum((unsigned char)*s) || strchr("-._~%:/?&=", *s));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	char *text = text_of(data + 1, size - 1);
	switch (data[0] % 4) {
	case 0:
		decode_base64(text, size - 1);
		break;
	case 1:
		parse_time(text);
		break;
	case 2:
		build_url(text);
		sign(text);
		break;
	default:
		check(token_review_expiry(text) >= -1);
	}
	free(text);
	return 0;
}

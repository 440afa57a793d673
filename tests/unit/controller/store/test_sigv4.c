#include "controller/store/sigv4.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct sigv4_credentials example_keys = {
	.access_key_id = "AKIAIOSFODNN7EXAMPLE",
	.secret_access_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
};

/* The worked example of AWS' documentation: "Authenticating Requests: Using Query Parameters". */
Test(sigv4, agrees_with_the_published_example)
{
	struct sigv4_request q = {
		.method = "GET",
		.scheme = "https",
		.host = "examplebucket.s3.amazonaws.com",
		.path = "/test.txt",
		.region = "us-east-1",
		.payload_sha256 = "UNSIGNED-PAYLOAD",
		.wall_ms = 1369353600000, /* 2013-05-24T00:00:00Z */
		.expires_seconds = 86400,
	};
	AUTO_BUF struct buf url;
	buf_init(&url, 4096);
	struct err e = ERR_INIT;
	cr_assert_eq(sigv4_presign(&q, &example_keys, &url, &e), 0, "%s", e.message);
	cr_expect_str_eq(buf_str(&url),
			 "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256"
			 "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z"
			 "&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
			 "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
}

Test(sigv4, puts_host_in_its_place_among_the_signed_headers)
{
	struct sigv4_request q = {
		.method = "PUT",
		.scheme = "http",
		.host = "127.0.0.1:9000",
		.path = "/bucket/a b/c+d",
		.region = "eu-central-1",
		.headers = {{"content-length", "5"}, {"content-type", "text/plain"}, {"x-amz-content-sha256", "00"}},
		.payload_sha256 = "00",
		.wall_ms = 1369353600000,
		.expires_seconds = 60,
	};
	struct sigv4_credentials keys = example_keys;
	keys.session_token = "to/ken+";
	AUTO_BUF struct buf url;
	buf_init(&url, 4096);
	struct err e = ERR_INIT;
	cr_assert_eq(sigv4_presign(&q, &keys, &url, &e), 0, "%s", e.message);
	cr_expect(strstr(buf_str(&url), "SignedHeaders=content-length%3Bcontent-type%3Bhost%3Bx-amz-content-sha256&"), "%s", buf_str(&url));
	cr_expect(strstr(buf_str(&url), "http://127.0.0.1:9000/bucket/a%20b/c%2Bd?"), "%s", buf_str(&url));
	cr_expect(strstr(buf_str(&url), "&X-Amz-Security-Token=to%2Fken%2B&"), "%s", buf_str(&url));
}

Test(sigv4, a_url_that_does_not_fit_is_an_error)
{
	struct sigv4_request q = {.method = "GET", .scheme = "https", .host = "h", .path = "/p", .region = "r",
				  .payload_sha256 = "UNSIGNED-PAYLOAD", .expires_seconds = 60};
	AUTO_BUF struct buf url;
	buf_init(&url, 100);
	struct err e = ERR_INIT;
	cr_expect_eq(sigv4_presign(&q, &example_keys, &url, &e), -1);
	cr_expect_eq(e.kind, ERR_INVALID);
}

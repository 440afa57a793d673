#include "common/base/base64.h"
#include "common/base/cleanup.h"

#include <criterion/criterion.h>
#include <string.h>

/* RFC 4648, section 10. */
static const struct {
	const char *plain, *standard, *url;
} rows[] = {
	{"f", "Zg==", "Zg"},
	{"fo", "Zm8=", "Zm8"},
	{"foo", "Zm9v", "Zm9v"},
	{"foobar", "Zm9vYmFy", "Zm9vYmFy"},
	{"\xfb\xff\xbf", "+/+/", "-_-_"},
};

Test(base64, encodes_and_decodes)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		size_t len = 0, url_len = 0;
		AUTO_FREE char *encoded = base64_encode(rows[i].plain, strlen(rows[i].plain));
		AUTO_FREE char *decoded = base64_decode(rows[i].standard, 16, &len);
		AUTO_FREE char *from_url = base64_decode_url(rows[i].url, strlen(rows[i].url), 16, &url_len);
		cr_expect_str_eq(encoded, rows[i].standard);
		cr_expect_str_eq(decoded, rows[i].plain);
		cr_expect_str_eq(from_url, rows[i].plain);
		cr_expect_eq(len, strlen(rows[i].plain));
		cr_expect_eq(url_len, len);
	}
}

Test(base64, refuses)
{
	static const char *const bad[] = {"", "    ", "Zm9v    ", "Zg", "Zg=", "Z===", "Z!==", "Zm9vYmFyZm9vYmFyZm9v", "===="};
	static const char *const bad_url[] = {"", "Z", "Zg==", "Z!", "Zm9vYmFyZm9vYmFyZm9v"};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		cr_expect_null(base64_decode(bad[i], 16, NULL), "%s", bad[i]);
	for (size_t i = 0; i < sizeof bad_url / sizeof bad_url[0]; i++)
		cr_expect_null(base64_decode_url(bad_url[i], strlen(bad_url[i]), 16, NULL), "%s", bad_url[i]);
}

Test(base64, turns_hex_digits)
{
	AUTO_FREE char *text = base64_from_hex("666f6F");
	cr_expect_str_eq(text, "Zm9v");
	cr_expect_null(base64_from_hex("666"));
	cr_expect_null(base64_from_hex("66xx"));
	cr_expect_null(base64_from_hex(""));
}

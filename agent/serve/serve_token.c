#include "agent/serve/serve_token.h"

#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <string.h>
#include <sys/random.h>

#define RANDOM_BYTES 24
#define FILE_MAX 4096

static char *make_random_token(struct err *e)
{
	unsigned char random[RANDOM_BYTES];
	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
		err_set_errno(e, errno, "getrandom");
		return NULL;
	}
	char *token = mem_alloc(2 * RANDOM_BYTES + 1);
	text_hex(random, RANDOM_BYTES, token);
	return token;
}

static char *accept_token(const char *text, const char *file, struct err *e)
{
	size_t len = strcspn(text, " \t\r\n");
	char *token = mem_strndup(text, len);
	bool good = len >= SERVE_TOKEN_LEAST && text[len + strspn(text + len, " \t\r\n")] == '\0';
	for (const char *c = token; *c; c++)
		good = good && *c > 0x20 && *c < 0x7f;
	if (good)
		return token;
	free(token);
	err_set(e, ERR_INVALID, 0, "%s: expected one token of at least %d printable characters", file, SERVE_TOKEN_LEAST);
	return NULL;
}

char *serve_token_get(const char *file, struct err *e)
{
	AUTO_BUF struct buf text = {0};
	struct err inner = ERR_INIT;
	if (!file)
		return make_random_token(e);
	if (fsio_read(AT_FDCWD, file, FILE_MAX, &text, &inner) == 0)
		return accept_token(buf_str(&text), file, e);
	if (inner.kind != ERR_NOT_FOUND) {
		if (e)
			*e = inner;
		return NULL;
	}
	char *token = make_random_token(e);
	if (token && fsio_write_atomic(file, token, strlen(token), 0600, e) < 0) {
		free(token);
		return NULL;
	}
	return token;
}

/* Of their hashes: neither the length nor the place of the first difference shows. */
bool serve_token_equal(const char *token, const char *sent)
{
	unsigned char a[SHA256_DIGEST_LENGTH], b[SHA256_DIGEST_LENGTH];
	SHA256((const unsigned char *)token, strlen(token), a);
	SHA256((const unsigned char *)sent, strlen(sent), b);
	return CRYPTO_memcmp(a, b, sizeof a) == 0;
}

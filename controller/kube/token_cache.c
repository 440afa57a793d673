#include "controller/kube/token_cache.h"

#include "common/base/hash.h"
#include "common/base/mem.h"

#include <openssl/sha.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	unsigned char key[SHA256_DIGEST_LENGTH];
	struct agent_identity who;
	int64_t reviewed_wall_ms;
	UT_hash_handle hh;
};

struct token_cache {
	pthread_mutex_t lock;
	size_t max;
	struct entry *entries; /* uthash keeps them in the order of insertion: the first is the oldest */
};

struct token_cache *token_cache_new(size_t max_entries)
{
	struct token_cache *c = mem_alloc(sizeof *c);
	c->max = max_entries;
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

static void drop_cached_token(struct token_cache *c, struct entry *en)
{
	HASH_DEL(c->entries, en);
	free(en);
}

void token_cache_free(struct token_cache *c)
{
	if (!c)
		return;
	struct entry *en, *tmp;
	HASH_ITER(hh, c->entries, en, tmp)
		drop_cached_token(c, en);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static struct entry *find_cached_token(struct token_cache *c, const char *token, unsigned char key[SHA256_DIGEST_LENGTH])
{
	struct entry *en = NULL;
	SHA256((const unsigned char *)token, strlen(token), key);
	HASH_FIND(hh, c->entries, key, SHA256_DIGEST_LENGTH, en);
	return en;
}

bool token_cache_get(struct token_cache *c, const char *token, int64_t now_wall_ms, struct agent_identity *out)
{
	unsigned char key[SHA256_DIGEST_LENGTH];
	pthread_mutex_lock(&c->lock);
	struct entry *en = find_cached_token(c, token, key);
	if (en && (now_wall_ms - en->reviewed_wall_ms > TOKEN_REVIEW_CACHE_MS || now_wall_ms >= en->who.expires_wall_ms)) {
		drop_cached_token(c, en);
		en = NULL;
	}
	if (en)
		*out = en->who;
	pthread_mutex_unlock(&c->lock);
	return en != NULL;
}

void token_cache_put(struct token_cache *c, const char *token, int64_t now_wall_ms, const struct agent_identity *who)
{
	unsigned char key[SHA256_DIGEST_LENGTH];
	pthread_mutex_lock(&c->lock);
	struct entry *en = find_cached_token(c, token, key);
	if (en)
		drop_cached_token(c, en);
	if (HASH_COUNT(c->entries) >= c->max && c->entries)
		drop_cached_token(c, c->entries);
	en = mem_alloc(sizeof *en);
	memcpy(en->key, key, sizeof key);
	en->who = *who;
	en->reviewed_wall_ms = now_wall_ms;
	HASH_ADD(hh, c->entries, key, SHA256_DIGEST_LENGTH, en);
	pthread_mutex_unlock(&c->lock);
}

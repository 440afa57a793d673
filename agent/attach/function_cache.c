#include "agent/attach/function_cache.h"

#include "common/base/index_set.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#include <stdlib.h>
#include <string.h>

#define HASH_FUNCTION(key, len, hash) ((hash) = index_hash(INDEX_HASH_START, (key), (len))) /* the pod chooses the keys */
#include "common/base/hash.h"

struct entry {
	UT_hash_handle hh;
	struct resolved_function f;
	struct entry *replaced; /* the one whose id it took */
	char strings[];
};

struct function_cache {
	struct entry *by_id;
	size_t count, bytes;
	uint64_t dropped;
};

struct function_cache *function_cache_new(void)
{
	return mem_alloc(sizeof(struct function_cache));
}

void function_cache_free(struct function_cache *c)
{
	struct entry *e, *next;

	if (!c)
		return;
	HASH_ITER(hh, c->by_id, e, next) {
		HASH_DEL(c->by_id, e);
		while (e) {
			struct entry *older = e->replaced;
			free(e);
			e = older;
		}
	}
	free(c);
}

static struct entry *find_function(const struct function_cache *c, uint64_t id)
{
	struct entry *e;

	HASH_FIND(hh, c->by_id, &id, sizeof id, e);
	return e;
}

/* Copies a text behind *at; NULL stays NULL. What is no UTF-8 or a control character becomes '?': reports are made of it. */
static const char *store_text(char **at, struct channel_text t)
{
	if (!t.data)
		return NULL;
	char *s = *at;
	for (size_t i = 0, n; i < t.len; i += n) {
		uint32_t c = 0;
		n = text_decode_utf8(t.data + i, t.len - i, &c);
		if (c == 0xfffd || c < 0x20 || c == 0x7f)
			memset(s + i, '?', n);
		else
			memcpy(s + i, t.data + i, n);
	}
	s[t.len] = '\0';
	*at = s + t.len + 1;
	return s;
}

static size_t text_bytes(const struct channel_function *f)
{
	return f->module.len + f->type.len + f->type_args.len + f->method.len + f->method_args.len + f->params.len + f->path.len + 7;
}

static struct entry *entry_new(const struct channel_function *f, size_t strings)
{
	struct entry *e = mem_alloc(sizeof *e + strings);
	char *at = e->strings;

	e->f = (struct resolved_function){
		.function_id = f->id,
		.overloaded = f->flags & CHANNEL_OVERLOADED,
		.dynamic = f->flags & CHANNEL_DYNAMIC,
		.dynamic_start_ns = f->dynamic_start_ns,
		.token = f->token,
		.image = f->image,
	};
	e->f.module = store_text(&at, f->module);
	e->f.type = store_text(&at, f->type);
	e->f.type_args = store_text(&at, f->type_args);
	e->f.method = store_text(&at, f->method);
	e->f.method_args = store_text(&at, f->method_args);
	e->f.params = store_text(&at, f->params);
	e->f.path = store_text(&at, f->path);
	return e;
}

void function_cache_add(struct function_cache *c, const struct channel_function *f)
{
	struct entry *old = find_function(c, f->id);
	size_t strings = text_bytes(f);

	if (old && (!(f->flags & CHANNEL_DYNAMIC) || old->f.dynamic_start_ns == f->dynamic_start_ns))
		return;
	if (c->count >= FUNCTION_CACHE_MAX_COUNT || c->bytes + sizeof(struct entry) + strings > FUNCTION_CACHE_MAX_BYTES) {
		c->dropped++;
		return;
	}
	struct entry *e = entry_new(f, strings);
	c->count++;
	c->bytes += sizeof *e + strings;
	if (old)
		HASH_DEL(c->by_id, old);
	e->replaced = old;
	HASH_ADD(hh, c->by_id, f.function_id, sizeof e->f.function_id, e);
}

const struct resolved_function *function_cache_find(const struct function_cache *c, uint64_t id)
{
	const struct entry *e = find_function(c, id);
	return e ? &e->f : NULL;
}

uint64_t function_cache_dropped(const struct function_cache *c)
{
	return c->dropped;
}

#include "agent/perf/pending_samples.h"

#include "agent/perf/secret_memory.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

void pending_samples_fini(struct pending_samples *p)
{
	secret_memory_free(p->bytes, PENDING_MAX_BYTES, p->used);
	if (p->samples)
		explicit_bzero(p->samples, p->cap * sizeof *p->samples);
	free(p->samples);
	*p = (struct pending_samples){0};
}

void pending_samples_clear(struct pending_samples *p)
{
	if (p->used)
		secret_memory_clear(p->bytes, p->used);
	p->used = p->count = 0;
}

bool pending_samples_half_full(const struct pending_samples *p)
{
	return p->used > PENDING_MAX_BYTES / 2 || p->count > PENDING_MAX_SAMPLES / 2;
}

static const void *append_bytes(struct pending_samples *p, const void *from, size_t bytes)
{
	uint8_t *to = p->bytes + p->used;
	if (bytes)
		memcpy(to, from, bytes);
	p->used += (bytes + 7) & ~(size_t)7;
	return to;
}

bool pending_samples_add(struct pending_samples *p, const struct perf_sample *s)
{
	size_t chains = (s->kernel_depth + s->user_depth) * sizeof *s->user;
	if (p->count >= PENDING_MAX_SAMPLES || chains + s->stack_bytes + 8 > PENDING_MAX_BYTES - p->used)
		return false;
	if (!p->bytes)
		p->bytes = secret_memory_new(PENDING_MAX_BYTES);
	GROW(p->samples, p->count, p->cap);
	struct perf_sample *to = &p->samples[p->count++];
	*to = *s;
	to->kernel = append_bytes(p, s->kernel, s->kernel_depth * sizeof *s->kernel);
	to->user = append_bytes(p, s->user, s->user_depth * sizeof *s->user);
	to->stack = append_bytes(p, s->stack, s->stack_bytes);
	return true;
}

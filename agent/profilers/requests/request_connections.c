#include "agent/profilers/requests/request_connections.h"

#include <string.h>

static const char waiting[] = "http connection ", opening[] = "opened ", calling[] = "http ";

static bool begins_with(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

bool request_connections_is_wait(const char *shape)
{
	return begins_with(shape, waiting);
}

bool request_connections_is_part(const char *shape)
{
	return request_connections_is_wait(shape) || begins_with(shape, "dns ") || begins_with(shape, "connect ") || begins_with(shape, "tls ");
}

/* The number of the shape "what host"; UINT32_MAX: it was not met. */
static uint32_t shape_number(const struct request_log *l, const char *what, const char *host)
{
	for (size_t i = 0; i < l->endpoint_cap; i++) {
		const char *name = l->endpoints[i] ? l->endpoints[i]->name : NULL;
		if (name && begins_with(name, what) && strcmp(name + strlen(what), host) == 0)
			return (uint32_t)i;
	}
	return UINT32_MAX;
}

void request_connections_count(const struct request_log *l, const char *shape, struct connection_counts *out)
{
	*out = (struct connection_counts){0};
	if (!request_connections_is_wait(shape))
		return;
	const char *host = shape + sizeof waiting - 1;
	uint32_t wait = shape_number(l, waiting, host), opened = shape_number(l, opening, host), call = shape_number(l, calling, host);
	for (size_t i = 0; i < l->trail.call_count; i++) {
		const struct channel_request_call *c = &l->trail.calls[i];
		out->waits += c->shape == wait;
		out->opened += c->shape == opened;
		out->calls += c->shape == call;
		out->failed += c->shape == call && c->failed;
	}
}

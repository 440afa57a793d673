/* Context: CLR callback (begin) and own thread. */
#include "profiler/base/lease.h"

#include "common/proto/difference.h"

#include <limits.h>

#define NS_PER_MS UINT64_C(1000000)

void lease_begin(struct lease *l, uint32_t length_ms, uint64_t now_ns)
{
	l->length_ms = length_ms;
	l->heard_ns = now_ns;
}

void lease_renew(struct lease *l, uint64_t now_ns)
{
	l->heard_ns = now_ns;
}

int lease_left_ms(const struct lease *l, uint64_t now_ns)
{
	uint64_t length_ns = l->length_ms * NS_PER_MS, silent_ns = difference(now_ns, l->heard_ns);

	if (!l->length_ms)
		return -1;
	if (silent_ns >= length_ns)
		return 0;
	uint64_t left_ms = difference(length_ns - 1, silent_ns) / NS_PER_MS + 1;
	return left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}

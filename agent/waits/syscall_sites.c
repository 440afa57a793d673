#include "agent/waits/syscall_sites.h"

#include <string.h>

#if defined(__aarch64__)
static const uint8_t call_code[] = {0x01, 0x00, 0x00, 0xd4}; /* svc #0 */
#else
static const uint8_t call_code[] = {0x0f, 0x05}; /* syscall */
#endif

bool syscall_sites_has(struct syscall_sites *s, const struct process_memory *m, uint64_t ip)
{
	uint8_t code[sizeof call_code];
	size_t at = (size_t)((ip * 0x9E3779B97F4A7C15u) >> 40) & (SYSCALL_SITES - 1);
	if (s->sites[at].ip != ip) {
		s->sites[at].ip = ip;
		s->sites[at].call = !process_memory_whole(m, ip - sizeof code, code, sizeof code) || memcmp(code, call_code, sizeof code) == 0;
	}
	return s->sites[at].call;
}

#include "agent/waits/syscall_sites.h"

#include "agent/arch/arch.h"

#include <string.h>

bool syscall_sites_has(struct syscall_sites *s, const struct process_memory *m, uint64_t ip)
{
	uint8_t code[sizeof arch_ours.system_call];
	size_t n = arch_ours.system_call_bytes;
	size_t at = (size_t)((ip * 0x9E3779B97F4A7C15u) >> 40) & (SYSCALL_SITES - 1);
	if (s->sites[at].ip != ip) {
		s->sites[at].ip = ip;
		s->sites[at].call = !process_memory_whole(m, ip - n, code, n) || memcmp(code, arch_ours.system_call, n) == 0;
	}
	return s->sites[at].call;
}

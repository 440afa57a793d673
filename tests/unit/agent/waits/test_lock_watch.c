#include "agent/waits/lock_watch.h"
#include "agent/waits/syscall_sites.h"

#include <criterion/criterion.h>
#include <string.h>

Test(lock_watch, finds_the_innermost_lock_on_a_stack)
{
	uint64_t locks[] = {0x1000, 0x5000, 0x9000};
	const struct lock_watch w = {.locks = locks, .lock_count = 3};
	uint64_t words[] = {1, 0x9001, 0x5000, 0x1000, UINT64_MAX};
	cr_assert_eq(lock_watch_on_stack(&w, (const uint8_t *)words, sizeof words), 0x5000);
	cr_assert_eq(lock_watch_on_stack(&w, (const uint8_t *)words, 23), 0, "half a word is none");
	cr_assert_eq(lock_watch_on_stack(&w, (const uint8_t *)words, 0), 0);
	cr_assert_eq(lock_watch_on_stack(&(struct lock_watch){0}, (const uint8_t *)words, sizeof words), 0);
}

struct code {
	uint64_t at;
	uint8_t bytes[16];
	int reads;
};

static size_t read_code(void *ctx, uint64_t address, void *out, size_t n)
{
	struct code *c = ctx;
	c->reads++;
	if (address < c->at || address + n > c->at + sizeof c->bytes)
		return 0;
	memcpy(out, c->bytes + (address - c->at), n);
	return n;
}

Test(syscall_sites, tells_a_system_call_by_the_instruction_before)
{
	static struct syscall_sites sites;
	struct code c = {.at = 0x4000, .bytes = {0x90, 0x90, 0x0f, 0x05, 0x90, 0x90, 0x90, 0x90}};
	const struct process_memory m = {.read = read_code, .ctx = &c};
#if defined(__x86_64__)
	cr_assert(syscall_sites_has(&sites, &m, 0x4004));
	cr_assert_not(syscall_sites_has(&sites, &m, 0x4006));
#endif
	int reads = c.reads;
	syscall_sites_has(&sites, &m, 0x4006);
	cr_assert_leq(c.reads, reads + 1);
	cr_assert(syscall_sites_has(&sites, &m, 0x9000), "what cannot be read is taken for one");
}

#include "agent/perf/perf_record.h"

#include "agent/arch/arch.h"

#include <linux/perf_event.h>
#include <string.h>

#define TALLY_WORDS 3 /* header | u32 pid, u32 tid | u64 time: a chain would say at least that it is empty */

/* Values of a call chain from here up are not addresses but say where the following ones are (PERF_CONTEXT_*). */
#define CONTEXT_LEAST ((uint64_t)PERF_CONTEXT_MAX)

static uint32_t low(uint64_t word)
{
	return (uint32_t)word;
}

static uint32_t high(uint64_t word)
{
	return (uint32_t)(word >> 32);
}

/* [nr][context][ips...][context][ips...]: at most one run of each context, kernel first. A repeated run is malformed. */
static int split_chain(const uint64_t *chain, uint64_t nr, struct perf_sample *s)
{
	uint64_t context = 0;
	for (uint64_t i = 0; i < nr; i++) {
		if (chain[i] >= CONTEXT_LEAST) {
			context = chain[i];
			if ((context == (uint64_t)PERF_CONTEXT_KERNEL && s->kernel) || (context == (uint64_t)PERF_CONTEXT_USER && s->user))
				return -1;
			if (context == (uint64_t)PERF_CONTEXT_KERNEL)
				s->kernel = chain + i + 1;
			else if (context == (uint64_t)PERF_CONTEXT_USER)
				s->user = chain + i + 1;
		} else if (context == (uint64_t)PERF_CONTEXT_KERNEL) {
			s->kernel_depth++;
		} else if (context == (uint64_t)PERF_CONTEXT_USER) {
			s->user_depth++;
		}
	}
	return 0;
}

/* u64 abi | abi is not 0: u64 registers[] | u64 size | size is not 0: bytes[size] | u64 how many of them are the stack's */
static int parse_stack(const uint64_t *w, size_t words, struct perf_sample *s)
{
	size_t at = 1 + (words && w[0] == PERF_SAMPLE_REGS_ABI_64 ? arch_ours.perf_register_count : 0);
	if (words <= at || w[0] == PERF_SAMPLE_REGS_ABI_32)
		return words && w[0] == PERF_SAMPLE_REGS_ABI_32 ? 0 : -1;
	s->has_registers = at > 1;
	if (s->has_registers)
		s->registers = arch_ours.take_registers(w + 1);
	uint64_t size = w[at++];
	if (size == 0)
		return 0;
	if (size % 8 || size / 8 >= words - at || w[at + size / 8] > size)
		return -1;
	s->stack = (const uint8_t *)(w + at);
	s->stack_bytes = (size_t)w[at + size / 8];
	return 0;
}

/* header | u32 pid, u32 tid | u64 time | u64 nr | u64 ips[nr] | registers and stack */
static int parse_sample(const uint64_t *w, size_t words, uint16_t misc, struct perf_sample *s)
{
	if (words < 4 || w[3] > words - 4)
		return -1;
	*s = (struct perf_sample){
		.pid = low(w[1]),
		.tid = high(w[1]),
		.time_ns = (int64_t)w[2],
		.in_kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL,
	};
	if (split_chain(w + 4, w[3], s) < 0)
		return -1;
	return words == 4 + w[3] ? 0 : parse_stack(w + 4 + w[3], words - 4 - w[3], s);
}

/* header | u32 pid, u32 tid | char comm[], NUL, padded to 8 */
static int parse_comm(const uint64_t *w, size_t words, struct perf_record *out)
{
	if (words < 3)
		return -1;
	out->u.comm.pid = low(w[1]);
	out->u.comm.tid = high(w[1]);
	const char *text = (const char *)(w + 2);
	size_t len = strnlen(text, (words - 2) * 8);
	if (len >= sizeof out->u.comm.comm)
		len = sizeof out->u.comm.comm - 1;
	memset(out->u.comm.comm, 0, sizeof out->u.comm.comm);
	memcpy(out->u.comm.comm, text, len);
	return 0;
}

/* header | u32 pid, ppid | u32 tid, ptid | u64 time */
static int parse_fork(const uint64_t *w, size_t words, struct perf_record *out)
{
	if (words < 4)
		return -1;
	out->u.fork.pid = low(w[1]);
	out->u.fork.tid = low(w[2]);
	return 0;
}

/* header | across a CPU: u32 pid, u32 tid of the other thread | sample_id: u32 pid, u32 tid | u64 time */
static int parse_switch(const uint64_t *w, size_t words, const struct perf_event_header *h, struct perf_record *out)
{
	size_t id = h->type == PERF_RECORD_SWITCH ? 1 : 2;
	if (words < id + 2)
		return -1;
	out->u.change = (struct perf_switch){
		.time_ns = (int64_t)w[id + 1],
		.pid = low(w[id]),
		.tid = high(w[id]),
		.out = h->misc & PERF_RECORD_MISC_SWITCH_OUT,
		.runnable = h->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
	};
	return 0;
}

int perf_record_parse(const uint64_t *w, size_t bytes, struct perf_record *out)
{
	struct perf_event_header h;
	memcpy(&h, w, sizeof h);
	size_t words = bytes / 8;
	*out = (struct perf_record){.kind = PERF_KIND_OTHER};
	switch (h.type) {
	case PERF_RECORD_SAMPLE:
		if (words == TALLY_WORDS) {
			out->kind = PERF_KIND_TALLY;
			return 0;
		}
		out->kind = PERF_KIND_SAMPLE;
		return parse_sample(w, words, h.misc, &out->u.sample);
	case PERF_RECORD_LOST: /* header | u64 id | u64 lost */
		out->kind = PERF_KIND_LOST;
		out->u.lost = words >= 3 ? w[2] : 0;
		return words >= 3 ? 0 : -1;
	case PERF_RECORD_LOST_SAMPLES: /* header | u64 lost */
		out->kind = PERF_KIND_LOST;
		out->u.lost = words >= 2 ? w[1] : 0;
		return words >= 2 ? 0 : -1;
	case PERF_RECORD_THROTTLE:
		out->kind = PERF_KIND_THROTTLE;
		return 0;
	case PERF_RECORD_COMM:
		out->kind = PERF_KIND_COMM;
		return parse_comm(w, words, out);
	case PERF_RECORD_FORK:
		out->kind = PERF_KIND_FORK;
		return parse_fork(w, words, out);
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		out->kind = PERF_KIND_SWITCH;
		return parse_switch(w, words, &h, out);
	default:
		return 0;
	}
}

/* Context: own thread (reset, put, forget, own), signal handler and CLR callback (enter, find, leave). */
#include "profiler/stacks/code_rules.h"

#include <stdatomic.h>

struct place {
	uint64_t start;
	uint32_t rule;
};

struct code_index {
	size_t count;
	struct place places[CODE_RULES_MAX]; /* by their starts; they do not overlap */
};

static struct code_rule rules[CODE_RULES_MAX];
static struct code_index indexes[2];
static _Atomic int readers[2];
static _Atomic int current;
static uint8_t taken[CODE_RULES_MAX]; /* own thread: the rules that the current index leads to */

/* Readers ---------------------------------------------------------------------------------------------------------------- */
const struct code_index *code_rules_enter(void)
{
	for (;;) {
		int i = atomic_load(&current);
		atomic_fetch_add(&readers[i], 1);
		if (atomic_load(&current) == i)
			return &indexes[i];
		atomic_fetch_sub(&readers[i], 1); /* it may be rewritten already */
	}
}

void code_rules_leave(const struct code_index *index)
{
	atomic_fetch_sub(&readers[index - indexes], 1);
}

const struct code_rule *code_rules_find(const struct code_index *index, uint64_t ip)
{
	const struct place *at = index->places;

	/* The last one that begins there or before. Without a branch on what is found, which no processor could foresee. */
	for (size_t left = index->count; left > 1; left -= left / 2) { /* no wrap: half of it */
		const struct place *middle = at + left / 2;
		at = middle->start <= ip ? middle : at;
	}
	const struct code_rule *r = &rules[at->rule];
	return index->count && at->start <= ip && ip < r->end ? r : NULL;
}

/* Own thread --------------------------------------------------------------------------------------------------------------- */
static struct code_index *index_to_write(void)
{
	int other = !atomic_load(&current);

	return atomic_load(&readers[other]) ? NULL : &indexes[other];
}

static void publish_index(struct code_index *index)
{
	atomic_store(&current, (int)(index - indexes));
}

void code_rules_reset(void)
{
	for (int i = 0; i < 2; i++)
		indexes[i].count = 0;
}

size_t code_rules_count(void)
{
	return indexes[atomic_load(&current)].count;
}

const struct code_rule *code_rules_own(uint64_t ip)
{
	return code_rules_find(&indexes[atomic_load(&current)], ip);
}

/* One that neither index leads to: nobody reads the other one, and it is written anew. */
static uint32_t free_rule(const struct code_index *index)
{
	uint32_t i = 0;

	for (size_t k = 0; k < CODE_RULES_MAX; k++)
		taken[k] = 0;
	for (size_t k = 0; k < index->count; k++)
		taken[index->places[k].rule] = 1;
	while (i < CODE_RULES_MAX && taken[i])
		i++;
	return i;
}

bool code_rules_put(const struct code_rule *rule)
{
	const struct code_index *from = &indexes[atomic_load(&current)];
	struct code_index *to = index_to_write();
	size_t n = 0, k = 0;

	if (!to || from->count == CODE_RULES_MAX || rule->start >= rule->end)
		return false;
	uint32_t at = free_rule(from);
	rules[at] = *rule;
	while (k < from->count && rules[from->places[k].rule].end <= rule->start)
		to->places[n++] = from->places[k++];
	to->places[n++] = (struct place){rule->start, at};
	for (; k < from->count; k++)
		if (from->places[k].start >= rule->end)
			to->places[n++] = from->places[k];
	to->count = n;
	publish_index(to);
	return true;
}

bool code_rules_forget(bool managed)
{
	const struct code_index *from = &indexes[atomic_load(&current)];
	struct code_index *to = index_to_write();
	size_t n = 0;

	if (!to)
		return false;
	for (size_t k = 0; k < from->count; k++) {
		const struct code_rule *r = &rules[from->places[k].rule];
		if (!r->fleeting && !(managed && r->kind == CODE_MANAGED))
			to->places[n++] = from->places[k];
	}
	to->count = n;
	publish_index(to);
	return true;
}

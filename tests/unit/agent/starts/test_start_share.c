#include "agent/starts/start_share.h"

#include <criterion/criterion.h>
#include <string.h>

#define MOST 8

/* "a" is a container of the namespace a, "A" one with a .NET process. */
static size_t victim(const char *held, const char *namespace)
{
	static char names[MOST][2];
	struct start_held items[MOST];
	size_t count = strlen(held);
	for (size_t i = 0; i < count; i++) {
		names[i][0] = (char)(held[i] | 0x20);
		items[i] = (struct start_held){names[i], held[i] < 'a'};
	}
	return start_share_victim(items, count, namespace);
}

Test(start_share, the_namespace_with_most_makes_room)
{
	static const struct {
		const char *held, *namespace;
		size_t victim;
	} rows[] = {
		{"aaaaaaaa", "b", 0},
		{"AAaAAAAA", "b", 2},
		{"AAAAAAAA", "b", 0},
		{"baaaaaaa", "b", 1},
		{"aaaaabbb", "b", 0},
		{"aaaabbbb", "b", 8},
		{"aaaabbbb", "a", 8},
		{"aaaabbbb", "c", 0},
		{"aaaaaaaa", "a", 8},
		{"abcdefgh", "i", 8},
		{"aabcdefg", "i", 0},
		{"", "a", 0},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		cr_expect_eq(victim(rows[i].held, rows[i].namespace), rows[i].victim, "%s, %s: %zu", rows[i].held, rows[i].namespace,
			     victim(rows[i].held, rows[i].namespace));
}

/* Who floods keeps at most one more than who does not. */
Test(start_share, whatever_comes_the_shares_become_even)
{
	char held[MOST + 1] = "aaaaaaaa";
	static const char coming[] = "bababacacacabacabaabac";
	for (size_t i = 0; coming[i]; i++) {
		char namespace[2] = {coming[i], '\0'};
		size_t at = victim(held, namespace);
		if (at == MOST)
			continue;
		memmove(held + at, held + at + 1, MOST - at - 1);
		held[MOST - 1] = coming[i];
	}
	for (const char *n = "abc"; *n; n++) {
		size_t count = 0;
		for (size_t i = 0; i < MOST; i++)
			count += held[i] == *n;
		cr_expect(count == 2 || count == 3, "%s", held);
	}
}

/* Context: own thread (refresh, find) and signal handler (end). */
#include "profiler/stacks/stack_map.h"

#include "common/proto/difference.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define SMALLEST_STACK 16384
#define LINE_CAP 4352 /* addresses + PATH_MAX */

static struct stack_range ranges[2][STACK_MAP_MAX]; /* sorted, as the kernel lists them */
static size_t range_count[2];
static _Atomic int readers[2];
static _Atomic int current;

static bool parse_map_hex(const char **p, const char *end, uintptr_t *out)
{
	const char *begin = *p;
	uintptr_t v = 0;

	for (; *p < end; (*p)++) {
		char c = **p;
		if (c >= '0' && c <= '9')
			v = v << 4 | (uintptr_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uintptr_t)(c - 'a' + 10);
		else
			break;
	}
	*out = v;
	return *p > begin && *p - begin <= 16;
}

/* Moves past the next `count` spaces-separated words. */
static const char *skip_words(const char *p, const char *end, int count)
{
	while (count-- > 0) {
		while (p < end && *p != ' ')
			p++;
		while (p < end && *p == ' ')
			p++;
	}
	return p;
}

bool stack_map_parse_line(const char *line, size_t len, struct stack_range *out)
{
	const char *p = line, *end = line + len;

	if (!parse_map_hex(&p, end, &out->low) || p == end || *p++ != '-' || !parse_map_hex(&p, end, &out->high))
		return false;
	if (end - p < 5 || *p != ' ' || p[1] != 'r' || p[2] != 'w' || p[4] != 'p')
		return false;
	p = skip_words(p + 1, end, 3); /* perms, offset, device */
	bool anonymous = end - p >= 1 && p[0] == '0' && (end - p == 1 || p[1] == ' ');
	return anonymous && out->high > out->low && out->high - out->low >= SMALLEST_STACK;
}

/* Takes the whole lines out of the buffer; returns how many bytes of an unfinished one stay at its start. */
static size_t take_lines(char *buf, size_t len, struct stack_range *table, size_t *count)
{
	char *line = buf, *newline;

	while ((newline = memchr(line, '\n', difference(len, (size_t)(line - buf))))) {
		if (*count < STACK_MAP_MAX && stack_map_parse_line(line, (size_t)(newline - line), &table[*count]))
			(*count)++;
		line = newline + 1;
	}
	size_t rest = difference(len, (size_t)(line - buf));
	memmove(buf, line, rest);
	return rest;
}

bool stack_map_refresh(void)
{
	static char buf[2 * LINE_CAP];
	int other = !atomic_load(&current);
	size_t count = 0, len = 0;
	ssize_t n;

	if (atomic_load(&readers[other]))
		return false; /* a handler is still in it: next time */
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while ((n = read(fd, buf + len, difference(sizeof buf, len))) > 0) {
		len = take_lines(buf, len + (size_t)n, ranges[other], &count);
		if (len == sizeof buf)
			len = 0; /* no line is that long */
	}
	close(fd);
	range_count[other] = count;
	atomic_store(&current, other);
	return true;
}

static const struct stack_range *find_stack_range(const struct stack_range *table, size_t count, uintptr_t sp)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (table[mid].high <= sp)
			low = mid + 1;
		else
			high = mid;
	}
	return low < count && table[low].low <= sp ? &table[low] : NULL;
}

bool stack_map_find(uintptr_t sp, struct stack_range *out)
{
	int i = atomic_load(&current);
	const struct stack_range *found = find_stack_range(ranges[i], range_count[i], sp);

	if (found)
		*out = *found;
	return found != NULL;
}

uintptr_t stack_map_end(uintptr_t sp)
{
	for (;;) {
		int i = atomic_load(&current);
		atomic_fetch_add(&readers[i], 1);
		bool still = atomic_load(&current) == i; /* else it may be rewritten already */
		const struct stack_range *found = still ? find_stack_range(ranges[i], range_count[i], sp) : NULL;
		uintptr_t end = found ? found->high : 0;
		atomic_fetch_sub(&readers[i], 1);
		if (still)
			return end;
	}
}

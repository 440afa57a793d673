#include "agent/symbols/kernel_symbols.h"

#include "agent/host/proc.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SYMBOLS 400000
#define MAX_NAME_BYTES (16 * 1024 * 1024)

struct kernel_symbol {
	uint64_t address;
	uint32_t name; /* offset in names */
};

struct kernel_symbols {
	struct kernel_symbol *items;
	size_t count, cap;
	struct buf names;
};

struct kernel_symbols *kernel_symbols_new(void)
{
	struct kernel_symbols *k = mem_alloc(sizeof *k);
	buf_init(&k->names, MAX_NAME_BYTES);
	return k;
}

void kernel_symbols_free(struct kernel_symbols *k)
{
	if (!k)
		return;
	free(k->items);
	buf_fini(&k->names);
	free(k);
}

static bool parse_hex_address(const char *s, size_t len, uint64_t *out)
{
	uint64_t v = 0;
	if (len == 0 || len > 16)
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = s[i];
		unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10) : 16;
		if (digit == 16)
			return false;
		v = v << 4 | digit;
	}
	*out = v;
	return true;
}

bool kernel_symbols_add_line(struct kernel_symbols *k, const char *line, size_t len)
{
	const char *blank = memchr(line, ' ', len);
	uint64_t address;
	if (!blank || !parse_hex_address(line, (size_t)(blank - line), &address) || address == 0)
		return false;
	const char *end = line + len, *name = blank + 3;
	if (end - blank < 4 || !strchr("tTwW", blank[1]) || !blank[1] || blank[2] != ' ')
		return false;
	const char *tab = memchr(name, '\t', (size_t)(end - name));
	size_t name_len = (size_t)((tab ? tab : end) - name);
	if (name_len == 0 || memchr(name, '\0', name_len) || k->count >= MAX_SYMBOLS)
		return false;
	uint32_t at = (uint32_t)k->names.len;
	if (buf_append(&k->names, name, name_len) < 0 || buf_putc(&k->names, '\0') < 0)
		return false;
	GROW(k->items, k->count, k->cap);
	k->items[k->count++] = (struct kernel_symbol){address, at};
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct kernel_symbol *x = a, *y = b;
	return x->address < y->address ? -1 : x->address > y->address;
}

void kernel_symbols_sort(struct kernel_symbols *k)
{
	if (k->count)
		qsort(k->items, k->count, sizeof *k->items, by_address);
}

static bool open_kallsyms(struct proc_lines *lines, const char *proc_root)
{
	AUTO_FREE char *path = mem_printf("%s/kallsyms", proc_root);
	return proc_lines_open(lines, AT_FDCWD, path) == 0;
}

bool kernel_symbols_allowed(const char *proc_root)
{
	AUTO_FREE struct proc_lines *lines = mem_alloc(sizeof *lines);
	const char *line;
	size_t len;
	bool shown = false;
	if (!open_kallsyms(lines, proc_root))
		return false;
	/* Hidden addresses are zeros; a real one may be among the first, too (per-CPU symbols). */
	for (int i = 0; i < 64 && !shown && proc_lines_next(lines, &line, &len); i++)
		shown = len > 16 && memcmp(line, "0000000000000000", 16) != 0;
	proc_lines_close(lines);
	return shown;
}

struct kernel_symbols *kernel_symbols_load(const char *proc_root)
{
	AUTO_FREE struct proc_lines *lines = mem_alloc(sizeof *lines);
	const char *line;
	size_t len;
	if (!open_kallsyms(lines, proc_root))
		return NULL;
	struct kernel_symbols *k = kernel_symbols_new();
	while (proc_lines_next(lines, &line, &len))
		kernel_symbols_add_line(k, line, len);
	proc_lines_close(lines);
	if (k->count == 0) {
		kernel_symbols_free(k);
		return NULL;
	}
	kernel_symbols_sort(k);
	return k;
}

const char *kernel_symbols_find(const struct kernel_symbols *k, uint64_t ip)
{
	size_t low = 0, high = k->count;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (k->items[mid].address <= ip)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? k->names.data + k->items[low - 1].name : NULL;
}

#include "agent/profilers/leak/leak_async.h"
#include "agent/profilers/leak/leak_finding.h"
#include "agent/symbols/method_name.h"

#include <string.h>

#define NAME_CHARS 70
#define MAX_STEPS 64

static size_t utf8_chars(const char *s)
{
	size_t n = 0;
	for (; *s; s++)
		n += (*s & 0xc0) != 0x80;
	return n;
}

/* "Dictionary<int, Order>._entries": a step with the field of it that refers to the next one; that of an array's element is "[].value". */
static void put_path_step(struct buf *out, const struct leak_model *m, uint32_t step, uint32_t next)
{
	AUTO_BUF struct buf shown;
	buf_init(&shown, 4096);
	method_name_printable(leak_model_text(m, m->steps[step].shown), 1000, &shown);
	AUTO_BUF struct buf method;
	buf_init(&method, 4096);
	if (m->steps[step].parent == LEAK_NONE) {
		buf_puts(out, buf_str(&shown));
	} else if (leak_async_method(&method, m, step)) { /* its state: how .NET keeps it says nothing to a person */
		method_name_shorten(buf_str(&method), NAME_CHARS, out);
		buf_puts(out, " (async)");
	} else {
		method_name_shorten(buf_str(&shown), NAME_CHARS, out);
	}
	const char *field = next == LEAK_NONE || m->steps[step].parent == LEAK_NONE ? "" : leak_model_text(m, m->steps[next].field);
	if (strncmp(field, "[]", 2) == 0)
		field += 2;
	if (!field[0])
		return;
	if (field[0] != '.')
		buf_putc(out, '.');
	method_name_printable(field, NAME_CHARS, out);
}

void leak_put_path(struct buf *out, const struct leak_model *m, uint32_t step, size_t max_chars)
{
	uint32_t way[MAX_STEPS];
	size_t count = 0, first = 1;
	for (uint32_t s = step; s != LEAK_NONE && count < MAX_STEPS; s = m->steps[s].parent)
		way[count++] = s;
	for (;; first++) { /* steps behind the root make room until it fits */
		AUTO_BUF struct buf b;
		buf_init(&b, 65536);
		for (size_t i = 0; i < count; i++) {
			if (i && i < first)
				continue;
			if (i)
				buf_puts(&b, i == first && first > 1 ? " -> \xe2\x80\xa6 -> " : " -> ");
			put_path_step(&b, m, way[count - 1 - i], i + 1 < count ? way[count - 2 - i] : LEAK_NONE);
		}
		if (utf8_chars(buf_str(&b)) <= max_chars || first + 1 >= count) {
			method_name_printable(buf_str(&b), max_chars * 4, out);
			return;
		}
	}
}

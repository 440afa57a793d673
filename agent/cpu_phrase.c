#include "agent/cpu_phrase.h"

#include "agent/method_name.h"

#include <string.h>

size_t cpu_phrase_chars(const char *s)
{
	size_t count = 0;
	for (; *s; s++)
		count += ((unsigned char)*s & 0xC0) != 0x80;
	return count;
}

void cpu_phrase_percent(struct buf *out, double percent)
{
	buf_printf(out, percent >= 9.95 ? "%.0f %%" : percent >= 0.095 || percent <= 0 ? "%.1f %%" : "%.2f %%", percent);
}

void cpu_phrase_share(struct buf *out, const struct cpu_analysis *a, uint32_t samples)
{
	cpu_phrase_percent(out, cpu_analysis_percent(a, samples));
}

void cpu_phrase_cpus(struct buf *out, double cpus)
{
	buf_printf(out, cpus >= 0.095 ? "%.1f" : cpus >= 0.0095 ? "%.2f" : "%.3f", cpus);
}

void cpu_phrase_method(struct buf *out, const struct cpu_analysis *a, uint32_t method, size_t max_chars)
{
	method_name_shorten(a->methods[method].name, max_chars, out);
}

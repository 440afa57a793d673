#include "agent/stacks/cpu_phrase.h"

#include "agent/symbols/method_name.h"

void cpu_phrase_share(struct buf *out, const struct cpu_analysis *a, uint32_t samples)
{
	phrase_percent(out, cpu_analysis_percent(a, samples));
}

void cpu_phrase_cpus(struct buf *out, double cpus)
{
	buf_printf(out, cpus >= 0.095 ? "%.1f" : cpus >= 0.0095 ? "%.2f" : "%.3f", cpus);
}

void cpu_phrase_method(struct buf *out, const struct cpu_analysis *a, uint32_t method, size_t max_chars)
{
	method_name_shorten(a->methods[method].name, max_chars, out);
}

#include "agent/profilers/allocs/alloc_diagnosis.h"

#include "agent/catalogue/catalogue.h"
#include "agent/report/phrase.h"
#include "agent/symbols/frame_place.h"
#include "agent/symbols/method_name.h"
#include "agent/report/report.h"
#include "common/base/size_text.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define ALLOC_LARGES "LargeObjectAllocations"
#define ALLOC_BOXED "BoxedValues"
#define ALLOC_SITE "AllocationHotspot"
#define ALLOC_TYPE "AllocationOfOneType"
#define ALLOC_PRESSURE "AllocationPressure"
#define IDLE_BYTES_PER_SECOND 1e6 /* as catalogue/allocations/group.yaml has it */
#define LARGE_WORTH_A_LINE 5.0
#define NEXT_PERCENT 5.0
#define GC_WORTH_A_LINE 2.0     /* percent of the time */
#define LEAST_NAME_CHARS 16
#define NAME_CHARS 110

void alloc_phrase_rate(struct buf *out, const struct alloc_analysis *a, double bytes)
{
	size_text_bytes(out, alloc_whole(a->seconds > 0 ? bytes / a->seconds : bytes));
	buf_puts(out, "/s");
}

static bool name_ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);
	return n >= m && strcmp(s + n - m, end) == 0;
}

const char *alloc_remedy(const char *type)
{
	static const struct {
		const char *part;
		bool whole;
		const char *remedy;
	} known[] = {
		{"byte[]", true, "rent buffers (ArrayPool<byte>.Shared) or keep one"},
		{"char[]", true, "rent buffers (ArrayPool<char>.Shared), or work on spans"},
		{"string", true, "slice with spans instead of Substring and Split, build with StringBuilder or string.Create, keep what repeats"},
		{"System.Text.StringBuilder", true, "keep one, or use interpolated string handlers"},
		{"AsyncStateMachineBox", false, "ValueTask for what mostly ends at once; PoolingAsyncValueTaskMethodBuilder for the rest"},
		{"System.Threading.Tasks.Task", false, "ValueTask for what mostly ends at once, and keep finished tasks"},
		{".(closure)", false, "pass state to the delegate instead of capturing it, or make the lambda static"},
		{"System.Func", false, "keep the delegate in a static field, or make the lambda static"},
		{"System.Action", false, "keep the delegate in a static field, or make the lambda static"},
		{".Entry", false, "give the collection its size when it is made, and keep it"},
		{"Enumerator", false, "iterate over the collection's own type, not its interface: its enumerator is then no object"},
	};
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (known[i].whole ? strcmp(type, known[i].part) == 0 : strstr(type, known[i].part) != NULL)
			return known[i].remedy;
	return name_ends_with(type, "[]") ? "rent arrays (ArrayPool), or give the collection its size when it is made" : NULL;
}

/* what it is about ------------------------------------------------------------------------------------------------ */

static bool alloc_leads(const struct alloc_diagnosis *d, const char *id)
{
	return strcmp(d->finding, id) == 0;
}

/* Large objects or boxed values: the row that the finding is about is another than the first. */
static bool is_special(const struct alloc_diagnosis *d)
{
	return alloc_leads(d, ALLOC_LARGES) || alloc_leads(d, ALLOC_BOXED);
}

static void choose_alloc_finding(const struct alloc_analysis *a, struct alloc_diagnosis *d)
{
	const struct alloc_sum *site = alloc_numbers_site(a), *type = a->type_count ? &a->types[0] : NULL, *about = site ? site : type;
	alloc_numbers_of(a, &d->numbers);
	catalogue_judge("Allocations", &alloc_numbers_fields, &d->numbers, &d->findings);
	d->finding = findings_lead_id(&d->findings);
	if (alloc_leads(d, ALLOC_LARGES))
		about = alloc_numbers_large(a);
	else if (alloc_leads(d, ALLOC_BOXED))
		about = alloc_numbers_boxed(a);
	else if (alloc_leads(d, ALLOC_TYPE))
		about = type;
	d->method = about ? about->method : CPU_NO_METHOD;
	d->type = about ? about->type : UINT32_MAX;
}

/* the headline ---------------------------------------------------------------------------------------------------- */

static size_t alloc_line_room(const struct buf *line)
{
	size_t used = phrase_chars(buf_str(line));
	return used < HEADLINE_MAX_CHARS ? HEADLINE_MAX_CHARS - used : 0;
}

static void put_alloc_percent(struct buf *out, const struct alloc_analysis *a, double bytes)
{
	phrase_percent(out, alloc_analysis_percent(a, bytes));
}

static void put_alloc_name_if_room(struct buf *line, const char *before, const char *name)
{
	AUTO_BUF struct buf shorter;
	buf_init(&shorter, 4096);
	if (!name || alloc_line_room(line) < strlen(before) + LEAST_NAME_CHARS)
		return;
	method_name_shorten(name, alloc_line_room(line) - strlen(before), &shorter);
	buf_puts(line, before);
	buf_puts(line, buf_str(&shorter));
}

static const char *type_name(const struct alloc_analysis *a, uint32_t type)
{
	return type == UINT32_MAX ? NULL : a->capture->types[type];
}

static void put_alloc_headline(const struct alloc_analysis *a, const struct alloc_diagnosis *d, struct buf *line)
{
	const struct finding *lead = findings_lead(&d->findings);
	if (d->numbers.bytes_per_second < IDLE_BYTES_PER_SECOND) {
		buf_puts(line, "Hardly anything is allocated: ");
		alloc_phrase_rate(line, a, a->all.bytes);
	} else if (lead && !alloc_leads(d, ALLOC_PRESSURE)) {
		buf_puts(line, lead->message);
	} else {
		alloc_phrase_rate(line, a, a->all.bytes);
		buf_puts(line, lead ? " allocated: " : " allocated, by many");
		if (lead)
			buf_puts(line, lead->message);
		else if (d->method != CPU_NO_METHOD) {
			buf_puts(line, "; most, ");
			put_alloc_percent(line, a, a->caused[d->method]);
			put_alloc_name_if_room(line, ", in ", alloc_analysis_method(a, d->method));
		}
	}
}

/* the lines ------------------------------------------------------------------------------------------------------- */

static void put_alloc_name(struct buf *out, const char *name)
{
	method_name_shorten(name, NAME_CHARS, out);
}

/* "Orders.cs:118", where the module's symbols told it. */
static void put_place(const struct alloc_analysis *a, const struct alloc_sum *s, const char *before, struct buf *out)
{
	const struct frame *f = alloc_analysis_place(a, s);
	if (!f || !f->file)
		return;
	buf_puts(out, before);
	frame_place_put(f, out);
}

/* What the method allocates, by type. */
static void put_types_of_method(const struct alloc_analysis *a, uint32_t method, struct buf *out)
{
	unsigned listed = 0;
	for (size_t i = 0; i < a->site_count && listed < 3; i++) {
		const struct alloc_sum *s = &a->sites[i];
		double part = a->caused[method] > 0 ? 100 * s->estimate.bytes / a->caused[method] : 0;
		if (s->method != method || (listed && part < NEXT_PERCENT))
			continue;
		buf_puts(out, listed++ ? ", " : "It allocates ");
		put_alloc_name(out, a->capture->types[s->type]);
		buf_putc(out, ' ');
		phrase_percent(out, part);
		buf_puts(out, " (");
		size_text_bytes(out, alloc_whole(s->estimate.bytes / s->estimate.objects));
		buf_puts(out, " each");
		put_place(a, s, ", at ", out);
		buf_putc(out, ')');
	}
	buf_puts(out, listed ? ".\n" : "");
}

static void put_methods_of_type(const struct alloc_analysis *a, uint32_t type, struct buf *out)
{
	unsigned listed = 0;
	for (size_t i = 0; i < a->site_count && listed < 3; i++) {
		const struct alloc_sum *s = &a->sites[i];
		if (s->type != type || s->method == CPU_NO_METHOD)
			continue;
		buf_puts(out, listed++ ? ", " : "Most of it in ");
		put_alloc_name(out, a->base.methods[s->method].name);
		buf_putc(out, ' ');
		put_alloc_percent(out, a, s->estimate.bytes);
		put_place(a, s, " at ", out);
	}
	buf_puts(out, listed ? ".\n" : "");
}

/* The other methods with much: one line. */
static void put_next_sites(const struct alloc_analysis *a, uint32_t but, struct buf *out)
{
	unsigned listed = 0;
	for (size_t i = 0; i < a->site_count && listed < 3; i++) {
		const struct alloc_sum *s = &a->sites[i];
		if (s->method == but || s->method == CPU_NO_METHOD)
			continue;
		if (alloc_analysis_percent(a, s->estimate.bytes) < NEXT_PERCENT)
			break;
		buf_puts(out, listed++ ? ", " : "Next: ");
		put_alloc_name(out, a->base.methods[s->method].name);
		buf_putc(out, ' ');
		put_alloc_percent(out, a, s->estimate.bytes);
		buf_puts(out, " as ");
		put_alloc_name(out, a->capture->types[s->type]);
		put_place(a, s, " at ", out);
	}
	buf_puts(out, listed ? ".\n" : "");
}

/* The runtime may have inlined the application's method, down to a delegate's, into its own: then no stack has it. */
static void put_no_method(const struct alloc_analysis *a, const struct alloc_sum *s, struct buf *out)
{
	uint32_t node = s ? a->stack_node[s->stack] : STACK_TREE_ROOT;
	if (!s || s->method != CPU_NO_METHOD || node == STACK_TREE_ROOT)
		return;
	buf_puts(out, "No method of the application is on the stacks of most of it (the nearest is ");
	put_alloc_name(out, a->base.methods[a->base.tree.nodes[node].method].name);
	buf_puts(out, "): .NET's own code allocates it, or the runtime has inlined the method into that; DOTNET_TieredPGO=0 at the start shows it.\n");
}

static void put_large_objects(const struct alloc_analysis *a, const struct alloc_diagnosis *d, struct buf *out)
{
	if (alloc_analysis_percent(a, a->large_bytes) < LARGE_WORTH_A_LINE)
		return;
	buf_puts(out, "The large object heap gets ");
	alloc_phrase_rate(out, a, a->large_bytes);
	buf_puts(out, " (objects of ");
	gc_settings_put_large(&a->capture->gc, out);
	buf_puts(out, " and more): only full collections clear it");
	buf_puts(out, alloc_leads(d, ALLOC_LARGES) ? "; rent such buffers (ArrayPool) or work in pieces.\n" : ".\n");
}

static void put_collections(const struct alloc_analysis *a, struct buf *out)
{
	double part = a->seconds > 0 ? (double)a->base.collections.total_ns / 1e9 / a->seconds * 100 : 0;
	if (part < GC_WORTH_A_LINE)
		return;
	buf_printf(out, "Collections stopped the application for ");
	phrase_percent(out, part);
	buf_printf(out, " of the time: %.1f a second, the longest %.1f ms.\n", a->base.collections.count / a->seconds,
		   (double)a->base.collections.longest_ns / 1e6);
}

/* A value of the application's own that is compared as an object needs another remedy than one that is passed as one; who makes an object of it may be
 * inlined, so that neither is seen. */
static void put_boxed_remedy(const struct alloc_analysis *a, struct buf *out)
{
	const struct alloc_sum *s = alloc_numbers_boxed(a);
	const char *type = type_name(a, s->type);
	buf_puts(out, "Remedy: ");
	put_alloc_name(out, type);
	if (alloc_numbers_value_type(type))
		buf_puts(out, " is a value that becomes an object (boxing) where it is passed as object or as an interface: use a generic method or "
			      "collection, or a typed overload.\n");
	else if (alloc_numbers_compared(a, s))
		buf_puts(out, " is a value that becomes an object (boxing) where it is compared: give it IEquatable<T> and GetHashCode, or make it a "
			      "record struct.\n");
	else
		buf_puts(out, " is a value that becomes an object (boxing), as a key of a Dictionary does that has no Equals of its own: give it "
			      "IEquatable<T> and GetHashCode, or make it a record struct; elsewhere, do not pass it as object or as an interface.\n");
}

static void put_remedy(const struct alloc_analysis *a, const struct alloc_diagnosis *d, struct buf *out)
{
	const char *type = type_name(a, d->type), *remedy = type ? alloc_remedy(type) : NULL;
	if (findings_find(&d->findings, "BoxedValues"))
		put_boxed_remedy(a, out);
	else if (remedy && !alloc_leads(d, ALLOC_LARGES))
		buf_printf(out, "Remedy: %s.\n", remedy);
}

static void put_quality(const struct alloc_analysis *a, struct buf *out)
{
	double high = alloc_estimate_high(&a->all), low = alloc_estimate_low(&a->all);
	if (!a->all.samples) {
		buf_puts(out, "No sample came: less than ");
		size_text_bytes(out, alloc_whole(high));
		buf_puts(out, " was allocated.\n");
		return;
	}
	buf_printf(out, "Estimated from %llu sample%s of the runtime (one about each 100 KB), the total to ",
		   (unsigned long long)a->all.samples, size_text_plural(a->all.samples, "", "s"));
	phrase_percent(out, 50 * (high - low) / a->all.bytes);
	buf_puts(out, a->capture->event == ALLOC_EVENT_TICK ? "; they come at a fixed distance, so patterns that repeat may be misjudged.\n" : ".\n");
}

void alloc_diagnosis_make(const struct alloc_analysis *a, struct alloc_diagnosis *out)
{
	AUTO_BUF struct buf line, text;
	*out = (struct alloc_diagnosis){.method = CPU_NO_METHOD, .type = UINT32_MAX};
	buf_init(&line, 4096);
	buf_init(&text, DIAGNOSIS_MAX_BYTES + 4096);
	choose_alloc_finding(a, out);
	put_alloc_headline(a, out, &line);
	buf_printf(&text, "%s\n", buf_str(&line));
	if (alloc_leads(out, ALLOC_SITE) || (is_special(out) && out->method != CPU_NO_METHOD))
		put_types_of_method(a, out->method, &text);
	if (alloc_leads(out, ALLOC_TYPE))
		put_methods_of_type(a, out->type, &text);
	if (is_special(out))
		put_no_method(a, alloc_leads(out, ALLOC_BOXED) ? alloc_numbers_boxed(a) : alloc_numbers_large(a), &text);
	if (out->numbers.bytes_per_second >= IDLE_BYTES_PER_SECOND) {
		put_next_sites(a, alloc_leads(out, ALLOC_TYPE) ? CPU_NO_METHOD : out->method, &text);
		put_large_objects(a, out, &text);
		put_collections(a, &text);
		put_remedy(a, out, &text);
	}
	put_quality(a, &text);
	while (text.len && text.data[text.len - 1] == '\n')
		text.data[--text.len] = '\0';
	out->headline = mem_strdup(buf_str(&line));
	out->text = mem_strdup(buf_str(&text));
}

void alloc_diagnosis_fini(struct alloc_diagnosis *d)
{
	free(d->headline);
	free(d->text);
	findings_fini(&d->findings);
	*d = (struct alloc_diagnosis){0};
}

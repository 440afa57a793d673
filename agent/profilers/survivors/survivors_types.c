#include "agent/profilers/survivors/survivors_types.h"

#include "agent/report/phrase.h"
#include "agent/heap/heap_counts.h"
#include "common/base/size_text.h"
#include "agent/profilers/survivors/survivors_finding.h"
#include "agent/profilers/survivors/survivors_text.h"

#include <inttypes.h>

double survivors_types_seen_percent(const struct survivors *s)
{
	const struct heap_facts *f = &s->snapshot->facts;
	if (!f->part)
		return 100;
	uint64_t seen = s->bytes + s->free_bytes;
	double percent = f->heap_most_bytes > seen ? 100.0 * (double)seen / (double)f->heap_most_bytes : 99;
	return percent < 99 ? percent : 99;
}

static void put_before(const struct survivors *s, struct buf *line)
{
	buf_puts(line, "Types only");
	if (s->snapshot->facts.part) {
		buf_puts(line, ", ");
		phrase_percent(line, survivors_types_seen_percent(s));
		buf_puts(line, " of the heap seen");
	}
	buf_puts(line, ": ");
}

void survivors_types_headline(const struct survivors *s, size_t max_chars, struct buf *line)
{
	const struct survivors_group *t = survivors_finding_largest_type(s);
	put_before(s, line);
	size_text_bytes(line, s->bytes);
	buf_puts(line, ", no type stands out");
	if (!t)
		return;
	buf_puts(line, "; most, ");
	phrase_percent(line, survivors_percent(s, survivors_finding_shallow(t)));
	buf_puts(line, ", ");
	if (line->len < max_chars) /* so far it is plain text */
		survivors_text_objects(line, s->snapshot, t->type, t->total.count, max_chars - line->len);
}

void survivors_types_put_needs(const struct survivors *s, struct buf *line)
{
	heap_counts_put_needs(&s->snapshot->facts.needs, s->snapshot->facts.why, line);
}

void survivors_types_put_part(const struct survivors *s, struct buf *line)
{
	const struct heap_facts *f = &s->snapshot->facts;
	if (!f->part)
		return;
	buf_puts(line, "The pause budget ended the count after ");
	size_text_bytes(line, s->bytes);
	buf_puts(line, ", at least ");
	phrase_percent(line, survivors_types_seen_percent(s));
	buf_puts(line, " of the heap, in the runtime's order: the oldest generation comes first, what is young or large may be missing, and no "
		       "figure stands for the rest");
	if (f->whole_budget_ms)
		buf_printf(line, ". pauseBudgetMilliseconds: %" PRId64 " would count all of it", f->whole_budget_ms);
}

void survivors_types_put_meaning(struct buf *line)
{
	buf_puts(line, "What nothing holds any more is counted too, until its collection");
}

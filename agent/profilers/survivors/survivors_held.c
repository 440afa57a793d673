#include "agent/profilers/survivors/survivors_held.h"

#include "agent/profilers/survivors/survivors_text.h"
#include "agent/report/phrase.h"
#include "agent/report/report.h"
#include "agent/symbols/method_name.h"
#include "common/base/size_text.h"

#define LEAST_NAME_CHARS 24 /* a shorter piece of a name tells nothing */
#define MANY ", from many holders"

static size_t held_room(const struct buf *line)
{
	size_t used = phrase_chars(buf_str(line));
	return used < HEADLINE_MAX_CHARS ? HEADLINE_MAX_CHARS - used : 0;
}

void survivors_held_part(struct buf *line, double part, double all, const char *what)
{
	size_text_bytes(line, (uint64_t)part);
	buf_puts(line, " of ");
	size_text_bytes(line, (uint64_t)all);
	buf_puts(line, what);
}

/* ": Order x 1,000,000": what is mainly held; empty: no one type. */
static void put_held_end(const struct rule_text *of, double objects, struct buf *out)
{
	if (!rules_known(objects) || !of->text[0])
		return;
	buf_puts(out, ": ");
	survivors_text_times(out, of->text, (uint64_t)objects, METHOD_NAME_SIZE);
}

static void put_held_end_if_room(const struct rule_text *of, double objects, struct buf *line)
{
	AUTO_BUF struct buf end;
	buf_init(&end, METHOD_NAME_SIZE * 4);
	put_held_end(of, objects, &end);
	if (phrase_chars(buf_str(&end)) <= held_room(line))
		buf_puts(line, buf_str(&end));
}

/* The holder's name is cut for the object's only as far as it still tells something. */
void survivors_held_by_one(const struct survivors_numbers *n, struct buf *line)
{
	AUTO_BUF struct buf end;
	buf_init(&end, METHOD_NAME_SIZE * 4);
	survivors_held_part(line, n->holder_bytes, n->heap_bytes, " are held by ");
	if (n->holder_objects > 1)
		buf_printf(line, "%.0f ", n->holder_objects);
	put_held_end(&n->holder_of, n->holder_of_objects, &end);
	size_t room = held_room(line), chars = phrase_chars(buf_str(&end)), with_end = room > chars ? room - chars : 0;
	survivors_text_holder(line, n->holder.text, with_end >= LEAST_NAME_CHARS ? with_end : room);
	if (chars <= held_room(line))
		buf_puts(line, buf_str(&end));
}

void survivors_held_together(const struct survivors_numbers *n, struct buf *line)
{
	survivors_held_part(line, n->shared_bytes, n->heap_bytes, " are held by several roots together");
	put_held_end_if_room(&n->shared_of, n->shared_of_objects, line);
}

void survivors_held_by_none(const struct survivors_numbers *n, struct buf *line)
{
	survivors_held_part(line, n->unheld_bytes, n->heap_bytes, " are ");
	buf_puts(line, n->unheld_words.text);
	put_held_end_if_room(&n->unheld_of, n->unheld_of_objects, line);
}

void survivors_held_type(const struct survivors_numbers *n, struct buf *line)
{
	bool known = n->holders_known > 0;
	if (!known) {
		buf_puts(line, "Types only");
		if (n->seen_percent < 100) {
			buf_puts(line, ", ");
			phrase_percent(line, n->seen_percent);
			buf_puts(line, " of the heap seen");
		}
		buf_puts(line, ": ");
	}
	survivors_held_part(line, n->type_bytes, n->heap_bytes, " are ");
	size_t kept = known ? sizeof MANY - 1 : 0, room = held_room(line);
	survivors_text_times(line, n->type.text, (uint64_t)n->type_objects, room > kept ? room - kept : room);
	if (known && held_room(line) >= kept)
		buf_puts(line, MANY);
}

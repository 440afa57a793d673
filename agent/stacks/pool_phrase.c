#include "agent/stacks/pool_phrase.h"

#include "agent/symbols/method_name.h"
#include "common/base/size_text.h"

#define HEADLINE_CHARS 80
#define PLACE_MOST 29
#define PLACE_LEAST 6

void pool_phrase_starved(double blocked, double workers, const char *place, double items, struct buf *out)
{
	AUTO_BUF struct buf waiting;
	size_t before = out->len;
	buf_init(&waiting, 64);
	if (items >= 1) {
		buf_puts(&waiting, "; ");
		size_text_counted(&waiting, (uint64_t)items, "item waits", "items wait");
	}
	buf_printf(out, "Thread pool starved: %.0f of %.0f workers block in ", blocked, workers);
	size_t used = out->len - before + waiting.len, room = used < HEADLINE_CHARS ? HEADLINE_CHARS - used : 0;
	room = room > PLACE_MOST ? PLACE_MOST : room < PLACE_LEAST ? PLACE_LEAST : room;
	method_name_shorten(place[0] ? place : "code of .NET", room, out);
	buf_puts(out, buf_str(&waiting));
}

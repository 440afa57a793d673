#include "agent/symbols/frame_place.h"

#include <string.h>

void frame_place_put(const struct frame *f, struct buf *out)
{
	if (!f->file)
		return;
	const char *slash = strrchr(f->file, '/');
	buf_printf(out, "%s:%u", slash ? slash + 1 : f->file, f->line);
}

void frame_place_put_behind(const struct frame *f, struct buf *out)
{
	if (!f->file)
		return;
	buf_puts(out, " (");
	frame_place_put(f, out);
	buf_putc(out, ')');
}

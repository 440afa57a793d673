#include "common/terminal/term_text.h"

#include "common/base/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define USUAL_WIDTH 80 /* of a terminal that does not say */
#define CONTINUED 2    /* spaces before the further lines of a paragraph */
#define BOLD "\033[1m"
#define PLAIN "\033[0m"

/* https://no-color.org */
struct term_page term_page_of(FILE *out)
{
	struct winsize size = {0};
	const char *terminal = getenv("TERM"), *no_color = getenv("NO_COLOR");
	if (!isatty(fileno(out)))
		return (struct term_page){0};
	bool known = ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col;
	return (struct term_page){
		.width = known ? size.ws_col : USUAL_WIDTH,
		.colour = (!terminal || strcmp(terminal, "dumb") != 0) && (!no_color || !*no_color),
	};
}

bool term_text_begins_character(char c)
{
	return ((unsigned char)c & 0xC0) != 0x80;
}

size_t term_text_columns(const char *text, size_t len)
{
	size_t n = 0;
	for (size_t i = 0; i < len; i++)
		n += term_text_begins_character(text[i]);
	return n;
}

size_t term_page_width(const struct term_page *p)
{
	return p->width == 0 ? (size_t)-1 : p->width < TERM_PAGE_MIN_WIDTH ? TERM_PAGE_MIN_WIDTH : p->width;
}

void term_text_spaces(struct buf *out, size_t count)
{
	for (; count; count--)
		buf_putc(out, ' ');
}

void term_text_wrapped(const struct term_page *p, const char *text, size_t at, size_t indent, struct buf *out)
{
	size_t column = at;
	while (*text) {
		size_t bytes = strcspn(text, " "), need = term_text_columns(text, bytes);
		bool first = column == at;
		if (!first && column + 1 + need > term_page_width(p)) {
			buf_putc(out, '\n');
			term_text_spaces(out, indent);
			column = indent;
		} else if (!first) {
			buf_putc(out, ' ');
			column++;
		}
		buf_append(out, text, bytes);
		column += need;
		text += bytes;
		text += strspn(text, " ");
	}
}

void term_text_heading(const struct term_page *p, const char *text, struct buf *out)
{
	buf_printf(out, "%s%s%s", p->colour ? BOLD : "", text, p->colour ? PLAIN : "");
}

void term_text_put(const struct term_page *p, const char *text, bool headline, struct buf *out)
{
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");
		AUTO_BUF struct buf shown;
		buf_init(&shown, 16 * (len + 1));
		text_append_printable(&shown, line, len);
		if (headline && line == text)
			term_text_heading(p, buf_str(&shown), out);
		else
			term_text_wrapped(p, buf_str(&shown), 0, CONTINUED, out);
		buf_putc(out, '\n');
		line += len + (line[len] == '\n');
	}
}

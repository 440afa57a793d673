/* A label selector. What is taken selects something, is read again as it is written, and makes a query without line breaks or blanks
 * that were not there. */
#include "common/api/label_selector.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Written and read again: as many requirements. The order may be another: matchLabels come first. */
static void rewrite(const struct label_requirement *r, size_t count, struct label_requirement **out)
{
	struct err e = ERR_INIT;
	size_t again = 0;
	AUTO_JSON json_t *text = label_selector_to_json(r, count);
	if (label_selector_from_json(text, "selector", out, &again, &e) < 0 || again != count)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	AUTO_JSON json_t *doc = jsonx_parse((const char *)data, size, "fuzz", &e);
	struct label_requirement *read = NULL, *once = NULL, *twice = NULL;
	size_t count = 0;
	if (!doc || !json_is_object(doc) || label_selector_from_json(doc, "selector", &read, &count, &e) < 0)
		return 0;
	if (count == 0)
		abort();
	rewrite(read, count, &once);
	rewrite(once, count, &twice);
	AUTO_BUF struct buf first, second, third;
	buf_init(&first, 1 << 20);
	buf_init(&second, 1 << 20);
	buf_init(&third, 1 << 20);
	label_selector_to_query(read, count, &first);
	label_selector_to_query(once, count, &second);
	label_selector_to_query(twice, count, &third);
	if (first.len == 0 || first.len != second.len || strcmp(buf_str(&second), buf_str(&third)) != 0 || strpbrk(buf_str(&first), "\n\r&#%"))
		abort();
	label_requirements_free(read, count);
	label_requirements_free(once, count);
	label_requirements_free(twice, count);
	return 0;
}

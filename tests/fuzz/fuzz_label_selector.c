/* A label selector. What is taken selects something, is read again as it is written, and makes a query without line breaks or blanks
 * that were not there. */
#include "common/api/label_selector.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	AUTO_JSON json_t *doc = jsonx_parse((const char *)data, size, "fuzz", &e);
	struct label_requirement *r = NULL, *again = NULL;
	size_t count = 0, again_count = 0;
	if (!doc || !json_is_object(doc) || label_selector_from_json(doc, "selector", &r, &count, &e) < 0)
		return 0;
	if (count == 0)
		abort();
	AUTO_JSON json_t *text = label_selector_to_json(r, count);
	if (label_selector_from_json(text, "selector", &again, &again_count, &e) < 0 || again_count != count)
		abort();
	AUTO_BUF struct buf query, second;
	buf_init(&query, 1 << 20);
	buf_init(&second, 1 << 20);
	label_selector_to_query(r, count, &query);
	label_selector_to_query(again, again_count, &second);
	if (query.len == 0 || strcmp(buf_str(&query), buf_str(&second)) != 0 || strpbrk(buf_str(&query), "\n\r&#%"))
		abort();
	label_requirements_free(r, count);
	label_requirements_free(again, again_count);
	return 0;
}

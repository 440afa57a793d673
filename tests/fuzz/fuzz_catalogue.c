/* A rule that somebody wrote, as a ConfigMap brings it: what is taken in can be judged, and each failure has a message. */
#include "agent/catalogue/catalogue.h"
#include "agent/catalogue/sentence.h"
#include "tests/fuzz/fuzz_tools.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);


static const char *no_unit(const void *context, const char *name)
{
	(void)context;
	(void)name;
	return NULL;
}

static void try_expression(const char *text)
{
	const struct sentence_units units = {no_unit, NULL};
	struct scope *s = scope_new();
	struct err e = ERR_INIT;
	struct value v;
	AUTO_BUF struct buf out;
	buf_init(&out, 1 << 16);
	scope_set_number(s, "n", 12.5);
	scope_set_number(s, "u", NAN);
	scope_set_text(s, "t", "Shop.Cart");
	if (scope_evaluate(s, text, &v, &e) && !e.message[0])
		abort();
	e = (struct err)ERR_INIT;
	if (!sentence_check(text, &units, &e))
		sentence_put(s, text, &units, 80, &out, &e);
	scope_free(s);
}

static void try_rule(const char *text, size_t size)
{
	struct catalogue_rule r;
	struct rule_group g;
	struct err e = ERR_INIT, why = ERR_INIT;
	int rc = rule_file_parse(text, size, "rule.yaml", &r, &e);
	if (rc && !e.message[0])
		abort();
	if (!rc && catalogue_group(r.profiler) && !catalogue_rule_check(&r, catalogue_group(r.profiler), "rule.yaml", &why))
		for (size_t i = 0; i < r.found.count; i++)
			try_expression(r.found.list[i].say);
	catalogue_rule_fini(&r);
	e = (struct err)ERR_INIT;
	rule_group_parse(text, size, "group.yaml", &g, &e);
	rule_group_fini(&g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = text_of(data, size);
	if (size < RULE_FILE_MAX_BYTES) {
		try_rule(text, strlen(text));
		try_expression(text);
	}
	free(text);
	return 0;
}

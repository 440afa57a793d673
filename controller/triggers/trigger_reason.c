#include "controller/triggers/trigger_reason.h"

#include <stddef.h>
#include <string.h>

#define DEFINE(name, remedy) const char TRIGGER_REASON_##name[] = #name;
TRIGGER_REASON_LIST(DEFINE)
#undef DEFINE

#define ROW(name, remedy) {TRIGGER_REASON_##name, remedy},
static const struct {
	const char *reason, *remedy;
} rows[] = {TRIGGER_REASON_LIST(ROW)};
#undef ROW

static int find_trigger_reason(const char *text)
{
	for (int i = 0; i < (int)(sizeof rows / sizeof rows[0]); i++) {
		if (strcmp(rows[i].reason, text) == 0)
			return i;
	}
	return -1;
}

const char *trigger_reason_remedy(const char *reason)
{
	int i = find_trigger_reason(reason);
	return i < 0 ? NULL : rows[i].remedy;
}

const char *trigger_reason_intern(const char *text)
{
	int i = find_trigger_reason(text);
	return i < 0 ? NULL : rows[i].reason;
}

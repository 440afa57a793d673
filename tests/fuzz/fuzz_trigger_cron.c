/* A schedule's text and a time zone's name (after the first newline). What is taken comes at whole minutes, each after the one before,
 * none of them left out when it is asked for again from just before. */
#include "controller/triggers/trigger_cron.h"
#include "controller/triggers/trigger_zone.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BEGIN_MS INT64_C(1767225600000)

static void check(const struct trigger_cron *c, const struct trigger_zone *zone)
{
	trigger_cron_offset_fn *offset = zone ? trigger_zone_offset : NULL;
	int64_t at = BEGIN_MS;
	for (int i = 0; i < 20; i++) {
		int64_t next = trigger_cron_next(c, offset, zone, at);
		if (next == TRIGGER_CRON_NEVER) /* the one day that it had was left out */
			return;
		if (next <= at || next % 60000 != 0)
			abort();
		if (trigger_cron_next(c, offset, zone, next - 1) != next || trigger_cron_next(c, offset, zone, at + (next - at) / 2) != next)
			abort();
		at = next;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[256];
	if (size >= sizeof text || memchr(data, '\0', size))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	char *line = strchr(text, '\n');
	if (line)
		*line++ = '\0';
	struct err e = ERR_INIT;
	struct trigger_zone *zone = line ? trigger_zone_open(line, &e) : NULL;
	struct trigger_cron c;
	if (trigger_cron_parse(text, &c, &e) == 0)
		check(&c, zone);
	trigger_zone_close(zone);
	return 0;
}

/* A time zone of the IANA database by its name, over GLib's GTimeZone. What one zone says is asked by any thread. */
#ifndef DRDOTNET_TRIGGER_ZONE_H
#define DRDOTNET_TRIGGER_ZONE_H

#include "common/base/err.h"

#include <stdint.h>

struct trigger_zone;

/* ERR_INVALID: there is no such zone, or this machine has no time zone database. */
struct trigger_zone *trigger_zone_open(const char *name, struct err *e);
void trigger_zone_close(struct trigger_zone *z); /* NULL is taken */

/* Seconds ahead of UTC at an instant: a trigger_cron_offset_fn. */
int64_t trigger_zone_offset(const void *zone, int64_t utc_seconds);

#endif

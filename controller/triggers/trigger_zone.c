#include "controller/triggers/trigger_zone.h"

#include <glib.h>
#include <string.h>

/* GLib also takes offsets and POSIX rules, and a name that leads out of its folder: a schedule may not. */
static int check_name(const char *name)
{
	size_t len = strlen(name);
	if (len == 0 || len > 64 || strstr(name, "..") || !g_ascii_isalpha(name[0]) || strcmp(name, "Local") == 0)
		return -1;
	return name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/")] ? -1 : 0;
}

struct trigger_zone *trigger_zone_open(const char *name, struct err *e)
{
	GTimeZone *zone = check_name(name) == 0 ? g_time_zone_new_identifier(name) : NULL;
	if (!zone)
		err_set(e, ERR_INVALID, 0, "\"%.64s\" is not known here; give a name of the IANA database, like Europe/Berlin", name);
	return (struct trigger_zone *)zone;
}

void trigger_zone_close(struct trigger_zone *z)
{
	if (z)
		g_time_zone_unref((GTimeZone *)z);
}

int64_t trigger_zone_offset(const void *zone, int64_t utc_seconds)
{
	GTimeZone *z = (GTimeZone *)zone;
	gint interval = g_time_zone_find_interval(z, G_TIME_TYPE_UNIVERSAL, utc_seconds);
	return interval < 0 ? 0 : g_time_zone_get_offset(z, interval);
}

/* Is an alert a trigger's? Pure; any thread.
 *
 * Prometheus matches labels by RE2 expressions that are anchored at both ends. Here PCRE2 does it, whose syntax holds RE2's, with what
 * could run away held off: patterns and values are bounded, look-around, back references and recursion are refused, and a match that
 * takes too many steps is given up and said so. */
#ifndef DRDOTNET_ALERT_MATCH_H
#define DRDOTNET_ALERT_MATCH_H

#include "controller/triggers/alertmanager.h"

/* Is a matcher's pattern one that can be used? ERR_INVALID says what is wrong. */
int alertmanager_check_pattern(const char *pattern, struct err *e);

/* Do all matchers hold, and is the alert of the trigger's namespace? -1: a pattern could not be tried, with *e; it counts as no match. */
int alertmanager_matches(const struct alert *a, const struct profiling_trigger *t, struct err *e);

#endif

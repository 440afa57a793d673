#include "controller/sessions/session_counts.h"

#include "common/api/reason.h"
#include "controller/base/metrics.h"

#include <stdio.h>
#include <string.h>

static void add_ended(const char *reason, const char *waited_for, int64_t n)
{
	char series[128];
	snprintf(series, sizeof series, "%s,%s", reason, reason_fault(reason, waited_for));
	metrics_add(METRIC_SESSIONS_ENDED, series, n);
}

void session_counts_begin(void)
{
#define NAME_OF(name, remedy) #name,
	static const char *const reasons[] = {REASON_LIST(NAME_OF)};
#undef NAME_OF
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (strcmp(reason_fault(reasons[i], NULL), REASON_FAULT_OTHER) != 0)
			add_ended(reasons[i], NULL, 0);
}

void session_counts_ended(const char *reason, const char *waited_for)
{
	add_ended(reason, waited_for, 1);
}

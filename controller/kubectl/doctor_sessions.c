/* Which sessions failed lately, and why. */
#include "common/api/reason.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "controller/kubectl/doctor_checks.h"
#include "controller/kubectl/plugin_progress.h"

#include <string.h>

#define RECENT_MS (24 * 3600 * 1000LL)
#define REASONS 64
#define OTHERS_MAX_BYTES 2048

static const char check[] = "recent sessions";

struct failures {
	const char *reason, *fault; /* static storage */
	size_t count;
	const char *name;   /* of one of them; borrowed */
	const char *message;
};

static bool is_recent(const json_t *session, int64_t now_wall_ms)
{
	int64_t ended_ms;
	const char *ended = jsonx_str_at(session, "status.completionTime", NULL);
	return ended && clock_parse_rfc3339(ended, &ended_ms) == 0 && now_wall_ms - ended_ms < RECENT_MS;
}

static void count_failure(const json_t *session, const json_t *succeeded, struct failures *all, size_t *count)
{
	const char *reason = reason_intern(jsonx_str_at(succeeded, "reason", ""));
	const char *fault = reason_fault(reason, jsonx_str_at(plugin_progress_condition(session, "Running"), "reason", NULL));
	size_t i = 0;
	if (!reason || reason == REASON_Canceled)
		return;
	while (i < *count && (all[i].reason != reason || strcmp(all[i].fault, fault) != 0))
		i++;
	if (i == REASONS)
		return;
	if (i == *count)
		all[(*count)++] = (struct failures){.reason = reason, .fault = fault, .name = jsonx_str_at(session, "metadata.name", "?"),
						    .message = jsonx_str_at(succeeded, "message", "")};
	all[i].count++;
}

void doctor_check_sessions(struct doctor_answer sessions, int64_t now_wall_ms, struct doctor_findings *out)
{
	struct failures all[REASONS];
	size_t i, count = 0, recent = 0;
	json_t *session;
	if (!sessions.object && sessions.why->kind == ERR_DENIED) {
		doctor_findings_leave_out(out, check);
		return;
	}
	if (!sessions.object) {
		doctor_findings_add(out, DOCTOR_WARN, check, NULL, "cannot be listed: %s", sessions.why->message);
		return;
	}
	json_array_foreach(sessions.object, i, session) {
		const json_t *succeeded = plugin_progress_condition(session, "Succeeded");
		if (!is_recent(session, now_wall_ms))
			continue;
		recent++;
		if (strcmp(jsonx_str_at(succeeded, "status", ""), "False") == 0)
			count_failure(session, succeeded, all, &count);
	}
	AUTO_BUF struct buf others;
	buf_init(&others, OTHERS_MAX_BYTES);
	size_t ill = 0;
	for (i = 0; i < count; i++) {
		if (strcmp(all[i].fault, REASON_FAULT_INSTALLATION) == 0) {
			ill++;
			doctor_findings_add(out, DOCTOR_WARN, check, reason_remedy(all[i].reason), "%zu of %zu: %s, such as %s: %.300s", all[i].count, recent,
					    all[i].reason, all[i].name, all[i].message);
		} else {
			buf_printf(&others, "%s%s (%zu)", others.len ? ", " : "", all[i].reason, all[i].count);
		}
	}
	if (!ill)
		doctor_findings_add(out, DOCTOR_OK, check, NULL, "%zu ended in the last day, none failed%s%s", recent,
				    others.len ? " by the installation's fault; for other reasons: " : "", buf_str(&others));
}

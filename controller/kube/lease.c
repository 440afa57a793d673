#include "controller/kube/lease.h"

#include "common/base/clock.h"

#include <stdio.h>
#include <string.h>

void lease_record_from_json(const json_t *lease, struct lease_record *out)
{
	*out = (struct lease_record){.exists = true};
	jsonx_copy_at(lease, "spec.holderIdentity", out->holder, sizeof out->holder);
	jsonx_copy_at(lease, "metadata.resourceVersion", out->resource_version, sizeof out->resource_version);
	int64_t seconds = jsonx_int_at(lease, "spec.leaseDurationSeconds", 0);
	out->duration_ms = seconds > 0 && seconds < 86400 ? seconds * 1000 : 0;
	int64_t transitions = jsonx_int_at(lease, "spec.leaseTransitions", 0);
	out->transitions = transitions > 0 ? transitions : 0;
	if (clock_parse_rfc3339(jsonx_str_at(lease, "spec.renewTime", ""), &out->renew_wall_ms) < 0)
		out->renew_wall_ms = 0;
	if (clock_parse_rfc3339(jsonx_str_at(lease, "spec.acquireTime", ""), &out->acquire_wall_ms) < 0)
		out->acquire_wall_ms = 0;
}

json_t *lease_record_to_json(const struct lease_record *r, const char *namespace, const char *name)
{
	char renew[CLOCK_RFC3339_SIZE], acquire[CLOCK_RFC3339_SIZE];
	clock_rfc3339_micro(r->renew_wall_ms * 1000, renew);
	clock_rfc3339_micro(r->acquire_wall_ms * 1000, acquire);
	json_t *spec = json_pack("{s:s, s:I, s:s, s:s, s:I}", "holderIdentity", r->holder, "leaseDurationSeconds",
				 (json_int_t)(r->duration_ms / 1000), "acquireTime", acquire, "renewTime", renew, "leaseTransitions",
				 (json_int_t)r->transitions);
	json_t *metadata = json_pack("{s:s, s:s}", "name", name, "namespace", namespace);
	if (r->resource_version[0])
		json_object_set_new(metadata, "resourceVersion", json_string(r->resource_version));
	return json_pack("{s:s, s:s, s:o, s:o}", "apiVersion", "coordination.k8s.io/v1", "kind", "Lease", "metadata", metadata, "spec", spec);
}

static bool held_by_other(struct lease_state *s, const struct lease_record *seen, struct lease_clock now)
{
	if (!seen->exists || !seen->holder[0] || strcmp(seen->holder, s->identity) == 0)
		return false;
	if (strcmp(s->seen_version, seen->resource_version) != 0) {
		snprintf(s->seen_version, sizeof s->seen_version, "%s", seen->resource_version);
		s->seen_mono_ms = now.mono_ms;
	}
	bool stale = seen->renew_wall_ms && now.wall_ms > seen->renew_wall_ms + seen->duration_ms + LEASE_SKEW_MS;
	return !stale && now.mono_ms - s->seen_mono_ms < seen->duration_ms;
}

int64_t lease_epoch_most(const struct lease_record *seen)
{
	int64_t most = seen->transitions + LEASE_EPOCH_STEP_MAX;
	return most < INT32_MAX - 1 ? most : INT32_MAX - 2;
}

static void fill_write(const struct lease_state *s, const struct lease_record *seen, struct lease_clock now, int64_t highest_epoch,
		       struct lease_record *w)
{
	*w = (struct lease_record){.exists = seen->exists, .duration_ms = LEASE_DURATION_MS, .renew_wall_ms = now.wall_ms};
	memcpy(w->holder, s->identity, sizeof w->holder);
	memcpy(w->resource_version, seen->resource_version, sizeof w->resource_version);
	bool believed = highest_epoch <= lease_epoch_most(seen);
	int64_t floor = believed && highest_epoch > seen->transitions ? highest_epoch : seen->transitions;
	bool renewal = s->leading && seen->exists && strcmp(seen->holder, s->identity) == 0 && s->epoch >= floor;
	w->transitions = renewal ? s->epoch : floor + 1;
	w->acquire_wall_ms = renewal && seen->acquire_wall_ms ? seen->acquire_wall_ms : now.wall_ms;
}

void lease_step(struct lease_state *s, const struct lease_record *seen, struct lease_clock now, int64_t highest_epoch, struct lease_decision *out)
{
	*out = (struct lease_decision){.action = LEASE_WAIT, .wake_mono_ms = now.mono_ms + LEASE_RENEW_MS};
	if (held_by_other(s, seen, now)) {
		if (s->leading) {
			s->leading = false;
			s->epoch = 0;
			out->action = LEASE_RESIGN;
		}
		int64_t runs_out = s->seen_mono_ms + seen->duration_ms;
		if (runs_out < out->wake_mono_ms)
			out->wake_mono_ms = runs_out;
		return;
	}
	out->action = LEASE_WRITE;
	fill_write(s, seen, now, highest_epoch, &out->write);
}

void lease_written(struct lease_state *s, const struct lease_record *written, int64_t begun_mono_ms)
{
	s->leading = true;
	s->epoch = written->transitions;
	s->renewed_mono_ms = begun_mono_ms;
}

bool lease_worth_saying(struct lease_said *said, const struct err *e, int64_t now_mono_ms)
{
	bool same = said->kind == e->kind && said->code == e->code;
	if (said->kind != ERR_NONE && now_mono_ms - said->at_ms < (same ? LEASE_SAY_AGAIN_MS : LEASE_SAY_OTHER_MS))
		return false;
	*said = (struct lease_said){e->kind, e->code, now_mono_ms};
	return true;
}

int64_t lease_bound_ms(const struct lease_state *s)
{
	return s->renewed_mono_ms + LEASE_RENEW_BOUND_MS;
}

bool lease_failed(struct lease_state *s, int64_t now_mono_ms)
{
	if (!s->leading || now_mono_ms < lease_bound_ms(s))
		return false;
	s->leading = false;
	s->epoch = 0;
	return true;
}

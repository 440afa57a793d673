/* What a leader asks an agent to keep an eye on, and what the agent says of it: the bodies of the messages OBSERVE and OBSERVED
 * (link_msg.h). One observation is one container of a pod, one resource, and a threshold in per cent of a whole. Pure data; any thread. */
#ifndef DRDOTNET_LINK_OBSERVATION_H
#define DRDOTNET_LINK_OBSERVATION_H

#include "common/base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINK_MAX_OBSERVATIONS 512 /* of one node; at most 230 KiB as text */
#define LINK_OBSERVE_MAX_PERCENT 10000
#define LINK_OBSERVE_MAX_FOR_SECONDS 86400
#define LINK_OBSERVE_MAX_VALID_SECONDS 3600

enum link_resource { LINK_RESOURCE_CPU, LINK_RESOURCE_MEMORY };
const char *link_resource_name(enum link_resource r); /* "cpu", "memory" */
int link_resource_parse(const char *name, enum link_resource *out);

/* Together, id, pod_uid and container name an observation; the container's id changes with each restart. */
struct link_observation {
	char id[40];              /* the trigger's uid */
	char pod_uid[40];
	char container[64];
	char container_id[80];    /* in this moment */
	enum link_resource resource;
	int64_t whole;            /* what 100% is: millicores or bytes; 0: the limit of the control group itself */
	int64_t above_percent;    /* 1 .. LINK_OBSERVE_MAX_PERCENT */
	int64_t for_seconds;      /* 1 .. LINK_OBSERVE_MAX_FOR_SECONDS */
};

enum link_observed_state {
	LINK_OBSERVED_NORMAL,
	LINK_OBSERVED_ABOVE,     /* for as long as was asked */
	LINK_OBSERVED_NO_LIMIT,  /* neither the observation nor the control group says what 100% is */
	LINK_OBSERVED_NOT_FOUND, /* no control group of this container here */
};
const char *link_observed_state_name(enum link_observed_state s); /* "Normal", "Above", "NoLimit", "NotFound" */
int link_observed_state_parse(const char *name, enum link_observed_state *out);

struct link_observed {
	char id[40];
	char pod_uid[40];
	char container[64];
	enum link_observed_state state;
	int64_t value, whole;     /* millicores or bytes; 0 where there is none */
	int64_t since_wall_ms;    /* when it came into this state, by the node's clock; for Above: when it rose above the threshold */
};

/* Are its names and numbers such that the other side takes it? What is not would end the link. */
bool link_observation_is_valid(const struct link_observation *o);

/* The lists, as JSON of their messages. What is read is a new array (also when it is empty). ERR_PROTOCOL names the field. */
json_t *link_observations_to_json(const struct link_observation *items, size_t count);
int link_observations_from_json(const json_t *doc, struct link_observation **out, size_t *count, struct err *e);
json_t *link_observed_to_json(const struct link_observed *items, size_t count);
int link_observed_from_json(const json_t *doc, struct link_observed **out, size_t *count, struct err *e);

#endif

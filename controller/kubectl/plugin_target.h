/* What a person means to profile: "deploy/checkout", "pod/checkout-1", "checkout-1" or labels. Pure. */
#ifndef DRDOTNET_PLUGIN_TARGET_H
#define DRDOTNET_PLUGIN_TARGET_H

#include "common/base/err.h"
#include "common/base/jsonx.h"

enum plugin_target_kind {
	PLUGIN_TARGET_POD,
	PLUGIN_TARGET_WORKLOAD, /* its pods are known by its selector */
	PLUGIN_TARGET_LABELS,
};

struct plugin_target {
	enum plugin_target_kind kind;
	const char *api, *plural, *word; /* of a workload; `word` is what people call it: "deployment" */
	char name[254];                  /* of the pod or workload; "" for labels */
	json_t *selector;                /* a LabelSelector; for labels */
};

/* Exactly one of the two is given: `text` is TYPE/NAME or a pod's name, `labels` what kubectl's -l takes. Names are checked to be
 * such, so that they may stand in a path. ERR_INVALID names the word and what is known. */
int plugin_target_parse(const char *text, const char *labels, struct plugin_target *out, struct err *e);
void plugin_target_fini(struct plugin_target *t);

/* "app=checkout,tier in (a,b),!legacy" as a LabelSelector (new reference). */
json_t *plugin_target_labels(const char *text, struct err *e);

/* The LabelSelector (new reference) by which this workload or Service knows its pods. */
json_t *plugin_target_selector_of(const json_t *object, const char *what, struct err *e);

/* A name of an object: lower-case letters, digits, '-' and '.', at most 253. */
bool plugin_target_is_name(const char *s);

#endif

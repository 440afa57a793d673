/* The configuration file of the installation's stores (its format stands in object_store.h) as typed structs. Pure. */
#ifndef DRDOTNET_STORE_CONFIG_H
#define DRDOTNET_STORE_CONFIG_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct store_config {
	char *name;
	bool builtin;
	/* s3 */
	char *scheme, *host;               /* of the endpoint; host has the port where it was given */
	char *public_scheme, *public_host;
	char *region, *bucket, *prefix;    /* prefix ends with '/' or is NULL */
	char *credentials_folder;
	char *ca_file;                     /* NULL: the system's */
	bool path_style;
};

/* *items is heap; store_config_free() it. Errors (ERR_INVALID) name the field: "stores[0].s3.bucket: required". */
int store_config_parse(const char *text, size_t len, struct store_config **items, size_t *count, struct err *e);
void store_config_free(struct store_config *items, size_t count);

#endif

/* The REST API's formal description (common/rest/openapi.json), embedded when this is built. */
#ifndef DRDOTNET_REST_OPENAPI_H
#define DRDOTNET_REST_OPENAPI_H

#include <stddef.h>

const char *rest_openapi_text(size_t *len); /* static */

#endif

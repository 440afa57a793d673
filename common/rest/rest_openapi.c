#include "common/rest/rest_openapi.h"

#include "common/base/embed.h"

EMBED_FILE(".rodata.rest_openapi", rest_openapi_data, "common/rest/openapi.json");

const char *rest_openapi_text(size_t *len)
{
	*len = (size_t)(rest_openapi_data_end - rest_openapi_data);
	return rest_openapi_data;
}

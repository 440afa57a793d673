#include "common/rest/rest_openapi.h"

/* The assembler takes the file in; the path is relative to where make runs. */
__asm__(".pushsection .rodata.rest_openapi,\"a\"\n"
	".global rest_openapi_data\nrest_openapi_data:\n"
	".incbin \"common/rest/openapi.json\"\n"
	".global rest_openapi_data_end\nrest_openapi_data_end:\n"
	".byte 0\n"
	".popsection\n");
extern const char rest_openapi_data[], rest_openapi_data_end[];

const char *rest_openapi_text(size_t *len)
{
	*len = (size_t)(rest_openapi_data_end - rest_openapi_data);
	return rest_openapi_data;
}

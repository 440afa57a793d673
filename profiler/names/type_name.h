/* Metadata names of types: "Namespace.Outer+Inner`1", arguments "<System.Int32,...>". Own thread; `info` is ICorProfilerInfo12,
 * `import` IMetaDataImport of the module that a token belongs to. What cannot be named becomes "?". */
#ifndef DRDOTNET_TYPE_NAME_H
#define DRDOTNET_TYPE_NAME_H

#include "profiler/clr/cor_abi.h"
#include "profiler/base/text.h"

#define TYPE_NAME_MAX_ARGS 16

/* For struct signature_names: `out` is a struct text. */
void type_name_put(void *out, const char *text);

void type_name_of_def(void *import, md_token type, struct text *out); /* without arguments */
void type_name_of_token(void *import, md_token token, struct text *out); /* TypeDef, TypeRef or TypeSpec */
void type_name_of_class(void *info, cor_id cls, struct text *out);
/* "A,B": the types of a list of ClassIDs. */
void type_name_list(void *info, const cor_id *classes, uint32_t count, struct text *out);

#endif

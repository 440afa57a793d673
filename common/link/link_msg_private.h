/* Private to common/link: the two halves of the codec, and the text rules that both know. Names that later become parts
 * of paths (job ids, report names, namespaces) are checked here, once, for everybody behind the link. */
#ifndef DRDOTNET_LINK_MSG_PRIVATE_H
#define DRDOTNET_LINK_MSG_PRIVATE_H

#include "common/base/jsonx.h"
#include "common/link/link_msg.h"

/* Bounds of texts that `struct link_job` owns: the writer cuts, the reader refuses. */
#define LINK_TEXT_REASON 64
#define LINK_TEXT_MESSAGE 1024
#define LINK_TEXT_NAME 128
#define LINK_TEXT_HEADLINE 320 /* 80 characters of up to four bytes */
#define LINK_TEXT_DIAGNOSIS 2048
#define LINK_TEXT_TOKEN (16 * 1024)
#define LINK_TEXT_URL 16384

/* Reads the body of a message whose type is set in *m. */
int link_msg_read_body(const json_t *doc, struct link_msg *m, struct err *e);

/* Adds the body's fields to the document. */
void link_msg_write_body(json_t *doc, const struct link_msg *m);

/* For bodies that live in files of their own. Texts: NULL when absent. */
int link_msg_read_name(const json_t *obj, const char *path, const char *key, bool required, char *out, size_t size, struct err *e);
int link_msg_read_text(const json_t *obj, const char *path, const char *key, bool required, size_t max_bytes, char **out, struct err *e);
void link_msg_put_text(json_t *obj, const char *key, const char *s, size_t max_bytes);

/* [A-Za-z0-9] then [A-Za-z0-9._-]*: safe as the name of a file. */
bool link_msg_is_name(const char *s);

#endif

/* One report file while it is written: text is appended to a buffer that flows to the file, hashed on the way; nobody sees the
 * file under its name before it is complete. One thread.
 *
 *   report_file_begin(&f, dirfd, "stacks.folded", e)
 *   buf_printf(&f.text, ...), report_file_flow(&f)   as often as it takes
 *   report_file_commit(&f, "text/plain", &report, e)
 *   report_file_fini(&f)                             removes what was not committed */
#ifndef DRDOTNET_REPORT_FILE_H
#define DRDOTNET_REPORT_FILE_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/json_writer.h"
#include "common/link/link_msg.h"

#include <stdbool.h>
#include <stdint.h>

struct report_file {
	struct buf text;
	struct json_writer json; /* writes to `text` */
	int dirfd, fd;
	char name[64], temp[96];
	void *hash;              /* EVP_MD_CTX */
	int64_t size;
	int failed_errno;        /* the first write error; said by commit */
};

int report_file_begin(struct report_file *f, int dirfd, const char *name, struct err *e);

/* Passes the text on when there is enough of it. Failures are kept for commit. */
void report_file_flow(struct report_file *f);

/* Bytes that need no buffer (compressed data). */
void report_file_write(struct report_file *f, const void *data, size_t len);

/* An unsigned number in decimal; faster than printf. */
void report_file_number(struct report_file *f, uint64_t n);

/* Writes the rest, gives the file its name (mode 0644) and fills *out. */
int report_file_commit(struct report_file *f, const char *media_type, struct link_report *out, struct err *e);
void report_file_fini(struct report_file *f);

#endif

/* What report.json has beyond plain values (common/base/json_writer.h, on f->json). One thread; failures are kept in the file. */
#ifndef DRDOTNET_REPORT_JSON_H
#define DRDOTNET_REPORT_JSON_H

#include "agent/report/report_file.h"

void report_json_string(struct report_file *f, const char *key, const char *value); /* outside text: shown as text, <= 300 bytes; NULL: null */
void report_json_marks(struct report_file *f, const char *key, unsigned marks);     /* enum method_mark: ["async", ...] */

/* The next element of an array of records, on a line of its own. */
void report_json_record(struct report_file *f);

/* jsonw_end(), and what is written flows on. */
void report_json_end(struct report_file *f);

#endif

/* Members of an object in a report.json: each begins with a comma. Names from the process are outside text: shown as text and cut.
 * One thread; failures are kept in the file. */
#ifndef DRDOTNET_REPORT_JSON_H
#define DRDOTNET_REPORT_JSON_H

#include "agent/report/report_file.h"

void report_json_string(struct report_file *f, const char *key, const char *value); /* outside text, <= 300 bytes; NULL: null */
void report_json_shown(struct report_file *f, const char *key, const char *value);  /* text that is bounded and shown already; NULL: null */
void report_json_integer(struct report_file *f, const char *key, int64_t value);
void report_json_known(struct report_file *f, const char *key, int64_t value); /* negative (unknown): null */
void report_json_number(struct report_file *f, const char *key, double value, int decimals);
void report_json_bool(struct report_file *f, const char *key, bool value);
void report_json_marks(struct report_file *f, const char *key, unsigned marks); /* enum method_mark: ["async", ...] */

#endif

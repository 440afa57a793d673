/* Members of an object in a report.json: each begins with a comma. Names from the process are outside text: shown as text and cut.
 * One thread; failures are kept in the file. */
#ifndef DRDOTNET_OLD_JSON_H
#define DRDOTNET_OLD_JSON_H

#include "agent/report/report_file.h"
#include "agent/report/report_head.h"

void old_json_string(struct report_file *f, const char *key, const char *value); /* outside text, <= 300 bytes; NULL: null */
void old_json_shown(struct report_file *f, const char *key, const char *value);  /* text that is bounded and shown already; NULL: null */
void old_json_integer(struct report_file *f, const char *key, int64_t value);
void old_json_known(struct report_file *f, const char *key, int64_t value); /* negative (unknown): null */
void old_json_number(struct report_file *f, const char *key, double value, int decimals);
void old_json_bool(struct report_file *f, const char *key, bool value);
void old_json_marks(struct report_file *f, const char *key, unsigned marks); /* enum method_mark: ["async", ...] */

void old_json_begin(const struct report_head *h, const char *finding, const char *more, struct report_file *f);
void old_json_end(const struct report_head *h, struct report_file *f);

#endif

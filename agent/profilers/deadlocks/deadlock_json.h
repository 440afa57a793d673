/* report.json of Deadlocks (docs/report-schema-deadlocks.json). One thread. */
#ifndef DRDOTNET_DEADLOCK_JSON_H
#define DRDOTNET_DEADLOCK_JSON_H

struct report_file;

/* A writer of report_write(): `source` is a struct deadlock_source. */
void deadlock_json_write(const void *source, struct report_file *f);

#endif

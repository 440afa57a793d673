/* report.json of Waits (docs/report-schema-waits.json). One thread; failures are kept in the file. */
#ifndef DRDOTNET_WAIT_JSON_H
#define DRDOTNET_WAIT_JSON_H

struct report_file;

/* A writer of report_write(): `source` is a struct wait_source. */
void wait_json_write(const void *source, struct report_file *f);

#endif

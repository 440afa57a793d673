/* The dominator tree as compact JSON for report.html's script: {"all": bytes, "names": [...], "tree": [for each node in
 * preorder: how many levels to go up before it, name, kind of root or -1, objects, own bytes, retained bytes]}. Small nodes are left out until it
 * fits its size. One thread. */
#ifndef DRDOTNET_SURVIVORS_PAGE_DATA_H
#define DRDOTNET_SURVIVORS_PAGE_DATA_H

#include "agent/report/report_file.h"

void survivors_page_data_write(const void *source, struct report_file *f); /* a struct survivors_source */

#endif

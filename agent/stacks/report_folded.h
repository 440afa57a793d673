/* Folded stacks (the text format of Brendan Gregg's FlameGraph): "thread;root;...;leaf weight" a line, threads of one name as one. A semicolon in
 * a name becomes a colon: the format has no escape. One thread; failures are kept in the file. */
#ifndef DRDOTNET_REPORT_FOLDED_H
#define DRDOTNET_REPORT_FOLDED_H

#include "agent/report/report_file.h"
#include "agent/stacks/stack_profile.h"

void report_folded_write(const struct stack_profile *p, struct report_file *f);

#endif

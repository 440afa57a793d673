/* The words of a diagnosis of MemoryLeak. Pure; one thread. */
#ifndef DRDOTNET_LEAK_LINES_H
#define DRDOTNET_LEAK_LINES_H

#include "agent/profilers/leak/leak_finding.h"

/* Sets headline and text of a diagnosis that is made but for them. */
void leak_lines_make(const struct leak_model *m, struct leak_diagnosis *d);

#endif

/* The first line of a diagnosis, which stands alone. Pure. */
#ifndef DRDOTNET_LEAK_HEADLINE_H
#define DRDOTNET_LEAK_HEADLINE_H

#include "agent/profilers/leak/leak_finding.h"

/* At most HEADLINE_MAX_CHARS; a new string. */
char *leak_headline_make(const struct leak_model *m, const struct leak_diagnosis *d);

#endif

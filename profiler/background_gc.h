/* Whether the process has the thread with which the runtime collects in the background: it is made for the first such collection (and ends after
 * a while without one), and without it none is under way. Once COR_PRF_HIGH_BASIC_GC is set the runtime tells when one begins. */
#ifndef DRDOTNET_BACKGROUND_GC_H
#define DRDOTNET_BACKGROUND_GC_H

#include <stdbool.h>

bool background_gc_possible(void); /* also when nobody can tell */

#endif

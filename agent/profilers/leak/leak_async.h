/* Growth that is held by what the compiler made of somebody's method: an async method's state, or the variables that a lambda captured. Named by that
 * method, and by what it awaits. Pure. */
#ifndef DRDOTNET_LEAK_ASYNC_H
#define DRDOTNET_LEAK_ASYNC_H

#include "agent/profilers/leak/leak_model.h"
#include "common/base/buf.h"

/* The state of an async method nearest to `payload`: on its path, else below it where most of it hangs. LEAK_NONE: there is none. */
uint32_t leak_async_state(const struct leak_model *m, uint32_t payload);

/* "Feed.Listen": the async method of a state. false, and nothing is put: its name is not known. */
bool leak_async_method(struct buf *out, const struct leak_model *m, uint32_t state);

/* "Task.Delay", "SemaphoreSlim.WaitAsync", "Feed.Inner": what the method awaits, by what leads to its state. false: not known. */
bool leak_async_awaits(struct buf *out, const struct leak_model *m, uint32_t state);

/* "Callbacks.Add": the method whose lambda captured the nearest closure on the path. false: there is none. */
bool leak_async_closure(struct buf *out, const struct leak_model *m, uint32_t payload);

#endif

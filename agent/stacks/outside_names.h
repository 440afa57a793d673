/* The functions of managed code, and where their code begins, without the library: by the runtime's own structures in the process's memory (.NET 9 and newer;
 * agent/locks/code_map.h, managed_methods.h). For a process that takes no library, or does not answer. Nothing in it is stopped or asked. One thread. */
#ifndef DRDOTNET_OUTSIDE_NAMES_H
#define DRDOTNET_OUTSIDE_NAMES_H

#include "agent/locks/dac_table.h"
#include "agent/locks/runtime_contract.h"
#include "agent/report/session_facts.h"
#include "agent/stacks/capture.h"
#include "common/proto/channel_code.h"

#define OUTSIDE_NAMES_MAX 16384 /* methods that are named */

struct outside_names;
struct resolved_function;

/* All are borrowed. `may` false: what this runtime says is not relied on, and nothing has a name. */
struct outside_names *outside_names_new(const struct process_memory *m, const struct runtime_contract *c, const struct dac_table *dac, bool may);
void outside_names_free(struct outside_names *n);

/* Whether this runtime says enough of itself. */
bool outside_names_able(const struct outside_names *n);

/* As frame_resolve_fn; `ctx` is the struct outside_names. What is given lives as long as that. */
int outside_names_resolve(void *ctx, const uint64_t *ips, size_t count, const struct resolved_function **out);
/* As code_bodies_ask_fn. */
int outside_names_code(void *ctx, const uint64_t *ips, size_t count, struct channel_code_body *out);

/* What a report lacks of an application that was compiled ahead of time (Native AOT), whose methods are named by the symbols of its file. `reason`: why there
 * is no library in the process (common/api/reason.h); of others nothing is noted. Where no method has a name nothing is excluded either. Pure. */
void outside_names_note_compiled(const char *reason, const struct cpu_capture *c, struct session_facts *f);

#endif

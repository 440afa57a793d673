/* The values with the most wasted bytes, of more than memory is meant for. Private to strings_analysis.c and its helpers. */
#ifndef DRDOTNET_STRINGS_LIST_H
#define DRDOTNET_STRINGS_LIST_H

#include "agent/profilers/strings/address_list.h"
#include "agent/profilers/strings/string_groups.h"
#include "agent/profilers/strings/strings_analysis.h"

/* Of the groups with copies those with the most wasted bytes, at most STRINGS_VALUES_MAX: new values, the groups' `listed` set. A
 * tie goes to the lower address. *strings: sorted. */
size_t strings_list_choose(struct string_groups *groups, const struct address_list *strings, struct strings_value **out);

/* Both lists as one, sorted and cut; takes `more`. */
void strings_list_merge_take(struct strings_value **list, size_t *count, struct strings_value *more, size_t more_count);

void strings_value_fini(struct strings_value *v);

#endif

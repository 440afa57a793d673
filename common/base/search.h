/* Binary search in sorted arrays of any kind. */
#ifndef DRDOTNET_SEARCH_H
#define DRDOTNET_SEARCH_H

#include <stddef.h>

/* The first index of `count` for which `before`, an expression with the index as `i`, does not hold: it holds for all before and for none behind. `count`:
 * it holds for all. */
#define SEARCH_PAST(i, count, before)                                                        \
	__extension__({                                                                      \
		size_t search_low_ = 0, search_high_ = (count);                              \
		while (search_low_ < search_high_) {                                         \
			size_t i = search_low_ + (search_high_ - search_low_) / 2;           \
			if (before)                                                          \
				search_low_ = i + 1;                                         \
			else                                                                 \
				search_high_ = i;                                            \
		}                                                                            \
		search_low_;                                                                 \
	})

#endif

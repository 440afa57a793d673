#include "agent/heap/heap_share.h"

#include <criterion/criterion.h>

Test(heap_share, less_than_a_processor_makes_each_stop_longer)
{
	static const struct {
		int64_t limit_millicores;
		uint64_t walk_us, collection_us, types_us;
	} rows[] = {
		{-1, 100000, 300000, 20000}, {0, 100000, 300000, 20000},    {1000, 100000, 300000, 20000},    {4000, 100000, 300000, 20000},
		{999, 100100, 300300, 20020}, {500, 200000, 600000, 40000}, {10, 10000000, 30000000, 2000000},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct heap_prediction p = {.walk_us = 100000, .collection_us = 300000, .types_us = 20000};
		heap_share_predict(&p, rows[i].limit_millicores);
		cr_expect(p.walk_us == rows[i].walk_us && p.collection_us == rows[i].collection_us && p.types_us == rows[i].types_us,
			  "%lld: %llu, %llu, %llu", (long long)rows[i].limit_millicores, (unsigned long long)p.walk_us,
			  (unsigned long long)p.collection_us, (unsigned long long)p.types_us);
	}
}

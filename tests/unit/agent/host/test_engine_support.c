#include "agent/host/engine_support.h"

#include <criterion/criterion.h>
#include <string.h>

static struct engine_support support_of(const char *version, const char *rid, const char *arch)
{
	struct engine_platform p;
	struct engine_support s;
	engine_platform_of(version, rid, arch, &p);
	engine_support_of(&p, &s);
	return s;
}

Test(engine_support, says_what_was_held_against_the_truth)
{
	static const struct {
		const char *version, *rid, *arch;
		enum engine engine;
		const char *lacks; /* NULL: nothing */
	} rows[] = {
		{"8.0.31", "linux-x64", "x64", ENGINE_MONITORS, NULL},
		{"8.0.31", "linux-x64", "x64", ENGINE_LOCKS, "the locks are read on .NET 9 and newer"},
		{"9.0.20", "linux-x64", "x64", ENGINE_LOCKS, NULL},
		{"10.0.12", "linux-x64", "x64", ENGINE_ASYNC, NULL},
		{"11.0.0", "linux-x64", "x64", ENGINE_ASYNC, NULL},
		{"11.0.0", "linux-x64", "x64", ENGINE_HANDLES, NULL},
		{"12.0.0", "linux-x64", "x64", ENGINE_MONITORS, "this version does not read the locks of .NET 12 yet"},
		{"12.0.0-preview.3", "linux-x64", "x64", ENGINE_ASYNC, "this version does not read the async operations of .NET 12 yet"},
		{"12.0.0", "linux-musl-x64", "x64", ENGINE_SLEEPERS, "this version does not read the stacks of waiting threads of .NET 12 yet"},
		{"10.1.0", "linux-x64", "x64", ENGINE_HANDLES, "this version does not read the handles of .NET 10.1 yet"},
		{"10.0.12", "linux-musl-x64", "x64", ENGINE_ASYNC, NULL},
		{"10.0.12", "linux-musl-x64", "x64", ENGINE_HANDLES, NULL},
		{"10.0.12", "linux-musl-x64", "x64", ENGINE_POOL_QUEUE, "this version does not read the thread pool's queue of .NET 10 on musl yet"},
		{"10.0.12", "linux-arm64", "arm64", ENGINE_MONITORS, NULL},
		{"10.0.12", "linux-arm64", "arm64", ENGINE_STATICS, "this version does not read the statics of generic types of .NET 10 on arm64 yet"},
		{"10.0.12", "linux-musl-arm64", "arm64", ENGINE_MONITORS, "this version does not read the locks of .NET 10 on musl and arm64 yet"},
		{NULL, NULL, NULL, ENGINE_MONITORS, NULL},
		{"", NULL, NULL, ENGINE_MONITORS, NULL},
		{"nonsense", "linux-x64", "x64", ENGINE_ASYNC, NULL},
		{NULL, NULL, "arm64", ENGINE_HANDLES, "this version does not read the handles of .NET on arm64 yet"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct engine_support s = support_of(rows[i].version, rows[i].rid, rows[i].arch);
		const char *lacks = engine_lacks(&s, rows[i].engine);
		cr_expect(rows[i].lacks ? lacks && strcmp(lacks, rows[i].lacks) == 0 : !lacks, "%zu: %s", i, lacks ? lacks : "nothing");
	}
}

Test(engine_support, of_what_is_newer_relies_on_nothing)
{
	static const char *const rids[] = {"linux-x64", "linux-musl-x64", "linux-arm64", "linux-musl-arm64"};
	for (size_t i = 0; i < sizeof rids / sizeof *rids; i++) {
		struct engine_support s = support_of("12.0.1", rids[i], i < 2 ? "x64" : "arm64");
		for (int engine = 0; engine < ENGINE_COUNT; engine++) {
			const char *lacks = engine_lacks(&s, (enum engine)engine);
			cr_assert_not_null(lacks, "%s: %d", rids[i], engine);
			cr_expect(strlen(lacks) <= 80, "a headline: %s", lacks);
		}
	}
}

Test(engine_support, keeps_the_first_doubt)
{
	struct engine_support s = support_of("10.0.12", "linux-x64", "x64");
	engine_doubt(&s, ENGINE_MONITORS, "threads stand in locks that are not there");
	engine_doubt(&s, ENGINE_MONITORS, "another");
	cr_assert_str_eq(engine_lacks(&s, ENGINE_MONITORS), "threads stand in locks that are not there");
	cr_assert(s.partly & ENGINE_BIT(ENGINE_MONITORS));
	cr_assert_null(engine_lacks(&s, ENGINE_LOCKS));
	s = support_of("12.0.0", "linux-x64", "x64");
	engine_doubt(&s, ENGINE_MONITORS, "another");
	cr_assert_not(s.partly & ENGINE_BIT(ENGINE_MONITORS), "nothing was read, so nothing of it is found");
}

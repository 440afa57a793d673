#include "agent/host/engine_support.h"

#include "common/proto/runtime_versions.h"

#include <stdio.h>
#include <string.h>

/* C library and processor. */
#define GLIBC_X64 1u
#define MUSL_X64 2u
#define GLIBC_ARM64 4u
#define MUSL_ARM64 8u
#define ALL_TRIED (GLIBC_X64 | MUSL_X64 | GLIBC_ARM64)

#if defined(__aarch64__)
#define OURS_IS_ARM64 true
#else
#define OURS_IS_ARM64 false
#endif

/* docs/platforms.md has the tests behind each row. */
static const struct engine_row {
	const char *what;
	int oldest, newest; /* major versions; of the minor ones only 0 is known */
	unsigned platforms;
} engines[ENGINE_COUNT] = {
	[ENGINE_MONITORS] = {"the locks", RUNTIME_OLDEST, RUNTIME_NEWEST, ALL_TRIED},
	[ENGINE_LOCKS] = {"the locks", 9, RUNTIME_NEWEST, ALL_TRIED},
	[ENGINE_TASKS] = {"the tasks of threads", RUNTIME_OLDEST, RUNTIME_NEWEST, ALL_TRIED},
	[ENGINE_POOL_QUEUE] = {"the thread pool's queue", 9, RUNTIME_NEWEST, GLIBC_X64 | GLIBC_ARM64},
	[ENGINE_ASYNC] = {"the async operations", RUNTIME_OLDEST, RUNTIME_NEWEST, ALL_TRIED},
	[ENGINE_NAMES] = {"the names of methods", 9, RUNTIME_NEWEST, ALL_TRIED},
	[ENGINE_HANDLES] = {"the handles", RUNTIME_OLDEST, RUNTIME_NEWEST, GLIBC_X64 | MUSL_X64},
	[ENGINE_STATICS] = {"the statics of generic types", RUNTIME_OLDEST, RUNTIME_NEWEST, GLIBC_X64 | MUSL_X64},
	[ENGINE_SLEEPERS] = {"the stacks of waiting threads", RUNTIME_OLDEST, RUNTIME_NEWEST, ALL_TRIED},
	[ENGINE_SAMPLING] = {"the stacks of running threads", RUNTIME_OLDEST, RUNTIME_NEWEST, ALL_TRIED},
};

void engine_platform_of(const char *version, const char *rid, const char *arch, struct engine_platform *out)
{
	*out = (struct engine_platform){.musl = rid && strstr(rid, "musl"), .arm64 = arch ? strcmp(arch, "arm64") == 0 : OURS_IS_ARM64};
	if (!version || sscanf(version, "%d.%d", &out->major, &out->minor) < 2 || out->major < 1 || out->minor < 0)
		out->major = out->minor = 0;
}

static unsigned platform_bit(const struct engine_platform *p)
{
	return p->arm64 ? (p->musl ? MUSL_ARM64 : GLIBC_ARM64) : p->musl ? MUSL_X64 : GLIBC_X64;
}

static bool is_newer(const struct engine_row *row, const struct engine_platform *p)
{
	return p->major > row->newest || (p->major > 0 && p->minor > 0);
}

static void put_lack(const struct engine_row *row, const struct engine_platform *p, char out[ENGINE_TEXT_BYTES])
{
	char version[32] = "";
	if (p->major > 0)
		snprintf(version, sizeof version, p->minor > 0 ? " %d.%d" : " %d", p->major, p->minor);
	if (is_newer(row, p))
		snprintf(out, ENGINE_TEXT_BYTES, "this version does not read %s of .NET%s yet", row->what, version);
	else if (p->major > 0 && p->major < row->oldest)
		snprintf(out, ENGINE_TEXT_BYTES, "%s are read on .NET %d and newer", row->what, row->oldest);
	else if (!(row->platforms & platform_bit(p)))
		snprintf(out, ENGINE_TEXT_BYTES, "this version does not read %s of .NET%s on %s%s yet", row->what, version, p->musl ? "musl" : "",
			 p->arm64 ? (p->musl ? " and arm64" : "arm64") : "");
}

void engine_support_of(const struct engine_platform *p, struct engine_support *out)
{
	*out = (struct engine_support){.partly = ENGINE_ROOTS};
	for (int i = 0; i < ENGINE_COUNT; i++)
		put_lack(&engines[i], p, out->lacks[i]);
}

void engine_doubt(struct engine_support *s, enum engine engine, const char *why)
{
	if (s->lacks[engine][0])
		return;
	s->partly |= ENGINE_BIT(engine);
	snprintf(s->lacks[engine], ENGINE_TEXT_BYTES, "%s", why);
}

const char *engine_lacks(const struct engine_support *s, enum engine engine)
{
	return s->lacks[engine][0] ? s->lacks[engine] : NULL;
}

/* Where a repository has the files of a build: SourceLink's map of the builder's folders to URLs, and what is shown where there is none. The map is the
 * pod's: bounded, and only plain http(s) URLs are given on. Nothing is fetched. Pure; one thread.
 *
 * Source: "Source Link" (github.com/dotnet/designs, accepted/2020/diagnostics/source-link.md). */
#ifndef DRDOTNET_SOURCE_LINK_H
#define DRDOTNET_SOURCE_LINK_H

#include "common/base/buf.h"

#include <stdbool.h>
#include <stddef.h>

#define SOURCE_LINK_MAX 64 /* entries; further ones are passed over */
#define SOURCE_URL_BYTES 1024

struct source_link { /* zeroed: no map */
	struct source_link_entry {
		char *folder, *url; /* both before the "*", or as a whole */
		char *rest;         /* of the URL, behind its "*"; NULL: the entry is of one file */
	} entries[SOURCE_LINK_MAX];
	size_t count;
};

/* What cannot be read is no map. */
void source_link_parse(struct source_link *l, const void *json, size_t bytes);
void source_link_fini(struct source_link *l);

/* Appends the path below the repository's root, and the address of the page that shows it (where the host is known to have such pages, else of the
 * file itself; empty where the map has none that may be given on). false: no entry is of this path; nothing was appended. */
bool source_link_find(const struct source_link *l, const char *path, struct buf *relative, struct buf *url);

/* The bytes of two paths' common folders, with the separator behind them. */
size_t source_link_common(const char *a, size_t bytes, const char *b);

#endif

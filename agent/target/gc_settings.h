/* How the garbage collector of a process was set up: by its environment, else by its runtimeconfig.json, else as the runtime does by itself. It is
 * the process's own word, read before an advice is given: what is set already is not advised. Any thread. */
#ifndef DRDOTNET_GC_SETTINGS_H
#define DRDOTNET_GC_SETTINGS_H

#include "common/base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gc_setting {
	GC_SETTING_SERVER,       /* DOTNET_gcServer, System.GC.Server */
	GC_SETTING_CONCURRENT,   /* DOTNET_gcConcurrent, System.GC.Concurrent: generation 2 in the background */
	GC_SETTING_GEN0_SIZE,    /* DOTNET_GCgen0size: bytes of generation 0, of each heap */
	GC_SETTING_HEAP_COUNT,
	GC_SETTING_HARD_LIMIT,   /* bytes */
	GC_SETTING_HARD_LIMIT_PERCENT,
	GC_SETTING_CONSERVE,     /* DOTNET_GCConserveMemory: 0 to 9 */
	GC_SETTING_ADAPTATION,   /* DOTNET_GCDynamicAdaptationMode: heaps by need, with Server GC */
	GC_SETTING_LARGE,        /* DOTNET_GCLOHThreshold: bytes of an object for the large object heap */
	GC_SETTING_COUNT
};

enum gc_origin {
	GC_NOT_SET,              /* as far as is known: see complete */
	GC_FROM_FILE,            /* runtimeconfig.json */
	GC_FROM_ENVIRONMENT,
};

struct gc_settings {
	struct {
		int64_t value;   /* of GC_NOT_SET: -1 */
		enum gc_origin origin;
	} of[GC_SETTING_COUNT];
	bool environment, file;  /* could be read */
	int64_t server_heaps;    /* threads of the Server GC that there are; 0: Workstation GC; -1: not known */
	bool background;         /* a thread for collections in the background is there */
};

void gc_settings_init(struct gc_settings *s);

/* From a block of variables ("A=1\0B=2\0"); they count more than the file. Values are hexadecimal, as the runtime reads them. Pure. */
void gc_settings_environment(struct gc_settings *s, const char *block, size_t len);

/* From the text of a runtimeconfig.json. What is none of it changes nothing. Pure. */
void gc_settings_file(struct gc_settings *s, const char *text, size_t len);

/* The file and the threads of an open /proc/PID whose entry assembly has this name (NULL: not known). May wait for the pod's file system. */
void gc_settings_read(struct gc_settings *s, int proc_fd, const char *entrypoint);

/* All that could set it was read: what is not set is as the runtime does it by itself. */
static inline bool gc_settings_complete(const struct gc_settings *s)
{
	return s->environment && s->file;
}

/* 1, 0; -1: not known. By the threads where they can be seen, which is what the runtime has made of the setting. */
int gc_settings_server(const struct gc_settings *s);
int gc_settings_concurrent(const struct gc_settings *s);

/* Where it is set: "DOTNET_gcConcurrent in its environment", "System.GC.Concurrent in its runtimeconfig.json". Appends. */
void gc_settings_place(const struct gc_settings *s, enum gc_setting which, struct buf *out);

/* From which size on an object is large: "85,000 bytes"; where it is set, with the place. Appends. */
void gc_settings_put_large(const struct gc_settings *s, struct buf *out);

#endif

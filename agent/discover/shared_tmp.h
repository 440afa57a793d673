/* Keeps the pods' folders of the shared tmp mode usable. kubelet makes a subPath folder as root with the mode of the
 * volume's own folder: the parent is therefore made 1777 (it stands in a 0711 folder). Where kubelet still makes one that only
 * root can write to, or drops the sticky bit, it is repaired before the container starts: .NET opens its socket once.
 *
 * The folders' names and contents are the pods' words: only folders that belong to root and have a mode that kubelet gives
 * are touched, by descriptor, through no link. A folder named by a pod's uid holds a folder per container, which is what is
 * repaired. Driven by one descriptor: poll shared_tmp_fd() for reading, then call shared_tmp_step(). One thread. */
#ifndef DRDOTNET_SHARED_TMP_H
#define DRDOTNET_SHARED_TMP_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SHARED_TMP_MAX_PODS 512 /* watched folders that hold a folder per container */

struct shared_tmp_watch {
	int id;         /* inotify's */
	char name[40];  /* the pod's uid */
};

struct shared_tmp {
	int parent_fd, inotify_fd;
	int parent_watch;
	bool late; /* what is looked at now may have been there for long */
	struct shared_tmp_watch pods[SHARED_TMP_MAX_PODS];
	size_t pod_count;
	int64_t repaired, overflows; /* counters for the metrics */
};

/* Makes the parent, whose own parent must be there: no other process sees it with a mode that is not 1777, so that a pod which mounts what cannot
 * exist before (hostPath, type Directory) finds it writable. One that is there and belongs to this user gets the mode. */
int shared_tmp_make(const char *parent, struct err *e);

/* Opens the parent, makes it 1777 when it belongs to this user, starts watching and repairs what is there. */
int shared_tmp_init(struct shared_tmp *s, const char *parent, struct err *e);
void shared_tmp_fini(struct shared_tmp *s); /* takes zeroed structs only after init was tried */

int shared_tmp_fd(const struct shared_tmp *s);

/* Handles what the kernel has reported; never blocks. Returns how many folders were repaired. When reports were lost
 * (queue overflow) everything is looked at again. */
int shared_tmp_step(struct shared_tmp *s);

/* When the application's user was first let into this folder, as seconds since the epoch, where that was not before its container can have started:
 * .NET opens its socket once, at the start of a process. 0: in time, or the file system has no extended attributes to keep it in. */
int64_t shared_tmp_opened_late(int folder_fd);

/* Whether a folder of this owner and mode is one that kubelet made and an application could not use. Pure. */
bool shared_tmp_wants_repair(uid_t owner, mode_t mode);

#endif

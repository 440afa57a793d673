/* Ownership by scope: `AUTO_FREE char *p = NULL;` frees p when the scope ends; ownership leaves by steal_ptr() or
 * steal_fd(). One attribute per type; types of our own with a fini of their own declare theirs beside it. */
#ifndef DRDOTNET_CLEANUP_H
#define DRDOTNET_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_file(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void cleanup_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

#define AUTO_FREE __attribute__((cleanup(cleanup_free)))
#define AUTO_FD __attribute__((cleanup(cleanup_fd)))
#define AUTO_FILE __attribute__((cleanup(cleanup_file)))
#define AUTO_DIR __attribute__((cleanup(cleanup_dir)))

static inline void *steal_ptr_(void *pp)
{
	void *p = *(void **)pp;
	*(void **)pp = NULL;
	return p;
}

/* Takes the pointer out of an AUTO_FREE variable. */
#define steal_ptr(pp) ((__typeof__(*(pp)))steal_ptr_(pp))

/* Takes the descriptor out of an AUTO_FD variable. */
static inline int steal_fd(int *fd)
{
	int got = *fd;
	*fd = -1;
	return got;
}

#endif

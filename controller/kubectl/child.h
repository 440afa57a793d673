/* Programs that the plugin starts: credential plugins, and kubectl for its port-forward. Standard error stays the person's terminal. One thread. */
#ifndef DRDOTNET_CHILD_H
#define DRDOTNET_CHILD_H

#include "common/base/buf.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* A command line and what is added to the environment. All copied. */
struct child_words {
	char **items;      /* ended by NULL */
	size_t count, cap;
	char **env;        /* "NAME=value" */
	size_t env_count, env_cap;
};

void child_words_add(struct child_words *w, const char *word);
void child_words_env(struct child_words *w, const char *name, const char *value);
void child_words_fini(struct child_words *w);

/* Runs it, found by PATH, to its end; its standard output goes to `out` (initialised, bounded). An exit code that is not 0 is an error. */
int child_output(const struct child_words *w, struct buf *out, struct err *e);

/* Starts it; *out_fd reads its standard output. It ends with this process, and has no terminal to read from. */
int child_start(const struct child_words *w, pid_t *pid, int *out_fd, struct err *e);

/* Ends it by a signal and waits for it. 0 is taken. */
void child_stop(pid_t pid);

#endif

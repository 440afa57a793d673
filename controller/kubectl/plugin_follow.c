#include "controller/kubectl/plugin_follow.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "controller/kube/kube_clock.h"
#include "controller/kube/kube_watch.h"
#include "controller/kubectl/plugin_progress.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define TICK_MS 500
#define FIRST_LIST_MS 20000
#define DELIVERY_PATIENCE_MS 60000

/* What the watch's thread has seen last. */
struct mailbox {
	pthread_mutex_t lock;
	json_t *session; /* NULL: nothing new */
	bool deleted, listed, told; /* told: the list under way has it */
	int fd;
};

struct watching {
	struct plugin_follow *f;
	struct mailbox box;
	struct kube_watch *watch;
	int64_t begun_ms, delivering_ms; /* 0: it does not deliver */
	bool terminal;
	char said[256];                  /* the last line */
};

int plugin_follow_signals(struct err *e)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd >= 0 ? fd : err_set_errno(e, errno, "signalfd");
}

/* the watch's thread ----------------------------------------------------------------------------------------------- */

static void on_follow_list_begin(void *ctx, const char *namespace)
{
	(void)namespace;
	struct mailbox *box = ctx;
	pthread_mutex_lock(&box->lock);
	box->told = false;
	pthread_mutex_unlock(&box->lock);
}

static void on_followed_session(void *ctx, bool deleted, const json_t *object)
{
	struct mailbox *box = ctx;
	json_t *copy = json_deep_copy(object);
	pthread_mutex_lock(&box->lock);
	json_decref(box->session);
	box->session = copy;
	box->deleted = deleted;
	box->told = true;
	bool tell = box->listed;
	pthread_mutex_unlock(&box->lock);
	if (tell)
		eventfd_write(box->fd, 1);
}

static void on_follow_list_end(void *ctx, const char *namespace)
{
	(void)namespace;
	struct mailbox *box = ctx;
	pthread_mutex_lock(&box->lock);
	box->listed = true;
	box->deleted = !box->told;
	pthread_mutex_unlock(&box->lock);
	eventfd_write(box->fd, 1);
}

/* the caller's ----------------------------------------------------------------------------------------------------- */

static void print_progress(struct watching *w, const char *line)
{
	if (w->f->quiet)
		return;
	if (w->terminal)
		fprintf(stderr, "\r\033[K%s", line);
	else if (strcmp(line, w->said) != 0)
		fprintf(stderr, "%s\n", line);
	fflush(stderr);
	snprintf(w->said, sizeof w->said, "%s", line);
}

static void clear_progress_line(struct watching *w)
{
	if (w->terminal && w->said[0])
		fprintf(stderr, "\r\033[K");
	fflush(stderr);
}

/* Where there is no terminal only a new phase is a new line. */
static void show_followed_session(struct watching *w)
{
	AUTO_BUF struct buf line;
	buf_init(&line, sizeof w->said);
	if (!w->f->session || plugin_progress_line(w->f->session, kube_clock_wall_ms(), &line) < 0)
		return;
	if (!w->terminal && line.len) {
		char *left = strstr(line.data, " s left");
		if (left)
			*strrchr(line.data, ',') = '\0';
	}
	print_progress(w, buf_str(&line));
}

static int cancel_followed_session(struct watching *w, struct err *e)
{
	AUTO_JSON json_t *patch = json_pack("{s:{s:b}}", "spec", "cancel", 1);
	struct kube_ref ref = plugin_connect_sessions(w->f->connection, w->f->name);
	w->f->canceled = true;
	clear_progress_line(w);
	fprintf(stderr, "ending %s; what was collected is kept (Ctrl-C again to leave it)\n", w->f->name);
	return kube_patch(w->f->connection->client, &ref, KUBE_PATCH_MERGE, patch, NULL, e);
}

/* 1: leave. */
static int handle_follow_signal(struct watching *w, struct err *e)
{
	struct signalfd_siginfo info;
	if (read(w->f->signal_fd, &info, sizeof info) != sizeof info)
		return 0;
	if (w->f->canceled || w->delivering_ms) {
		w->f->end = PLUGIN_FOLLOW_LEFT;
		return 1;
	}
	return cancel_followed_session(w, e);
}

/* 1: it is at its end. */
static int read_mailbox(struct watching *w, struct err *e)
{
	struct mailbox *box = &w->box;
	struct plugin_progress p;
	pthread_mutex_lock(&box->lock);
	bool listed = box->listed, deleted = box->deleted;
	json_t *session = listed ? box->session : NULL;
	if (session)
		box->session = NULL;
	pthread_mutex_unlock(&box->lock);
	if (session) {
		json_decref(w->f->session);
		w->f->session = session;
	}
	if (listed && deleted)
		return err_set(e, ERR_GONE, 0, "the session %s was deleted", w->f->name);
	if (!w->f->session)
		return 0;
	plugin_progress_read(w->f->session, &p);
	int64_t now_ms = clock_mono_ms();
	w->delivering_ms = !p.delivering ? 0 : w->delivering_ms ? w->delivering_ms : now_ms;
	w->f->end = p.completed ? PLUGIN_FOLLOW_COMPLETED : PLUGIN_FOLLOW_DELIVERING;
	return p.completed || (w->delivering_ms && now_ms - w->delivering_ms > DELIVERY_PATIENCE_MS);
}

static int check_begun(struct watching *w, struct err *e)
{
	if (kube_watch_synced(w->watch) || clock_mono_ms() - w->begun_ms < FIRST_LIST_MS)
		return 0;
	char why[ERR_MESSAGE_SIZE];
	kube_watch_why(w->watch, why, sizeof why);
	return err_set(e, ERR_RETRY, 0, "the session %s cannot be watched: %.300s", w->f->name, why[0] ? why : "no answer");
}

/* Until the end, or -1. */
static int loop(struct watching *w, struct err *e)
{
	for (;;) {
		struct pollfd fds[] = {{.fd = w->f->signal_fd, .events = POLLIN}, {.fd = w->box.fd, .events = POLLIN}};
		eventfd_t ignored;
		poll(fds, 2, TICK_MS);
		int rc = fds[0].revents ? handle_follow_signal(w, e) : 0;
		if (fds[1].revents)
			eventfd_read(w->box.fd, &ignored);
		if (rc == 0)
			rc = read_mailbox(w, e);
		if (rc == 0)
			rc = check_begun(w, e);
		if (rc != 0)
			return rc < 0 ? -1 : 0;
		show_followed_session(w);
	}
}

int plugin_follow_run(struct plugin_follow *f, struct err *e)
{
	AUTO_FREE char *selector = mem_printf("metadata.name=%s", f->name);
	struct watching w = {.f = f, .begun_ms = clock_mono_ms(), .terminal = isatty(STDERR_FILENO)};
	w.box.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w.box.fd < 0)
		return err_set_errno(e, errno, "eventfd");
	pthread_mutex_init(&w.box.lock, NULL);
	struct kube_watch_options o = {
		.config = &f->connection->config,
		.api = KUBE_SESSIONS,
		.plural = SESSION_PLURAL,
		.namespace = f->connection->namespace,
		.field_selector = selector,
		.callbacks = {.ctx = &w.box, .on_list_begin = on_follow_list_begin, .on_list_end = on_follow_list_end, .on_object = on_followed_session},
	};
	w.watch = kube_watch_start(&o, e);
	int rc = w.watch ? loop(&w, e) : -1;
	clear_progress_line(&w);
	kube_watch_stop(w.watch);
	json_decref(w.box.session);
	pthread_mutex_destroy(&w.box.lock);
	close(w.box.fd);
	return rc;
}

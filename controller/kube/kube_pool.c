#include "controller/kube/kube_pool.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>

#define IDLE_MAX 4 /* a connection costs some 50 KB */

struct kube_pool {
	struct kube_config config; /* borrowed strings */
	bool anonymous;
	int64_t timeout_ms;
	int cancel_fd;
	pthread_mutex_t lock;
	struct kube_client *idle[IDLE_MAX];
	size_t count;
};

struct kube_pool *kube_pool_new(const struct kube_config *kube, bool anonymous, int64_t timeout_ms)
{
	struct kube_pool *p = mem_alloc(sizeof *p);
	p->config = *kube;
	if (anonymous) {
		p->config.token = p->config.token_file = NULL;
		p->config.client_cert_file = p->config.client_cert_pem = NULL;
		p->config.client_key_file = p->config.client_key_pem = NULL;
	}
	p->anonymous = anonymous;
	p->timeout_ms = timeout_ms;
	p->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&p->lock, NULL);
	return p;
}

void kube_pool_stop(struct kube_pool *p)
{
	if (p->cancel_fd >= 0 && eventfd_write(p->cancel_fd, 1) < 0) {
		/* cannot happen with a fresh counter; the calls would end by their time limit */
	}
}

void kube_pool_free(struct kube_pool *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->count; i++)
		kube_client_free(p->idle[i]);
	cleanup_fd(&p->cancel_fd);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static struct kube_client *take_idle(struct kube_pool *p)
{
	pthread_mutex_lock(&p->lock);
	struct kube_client *c = p->count ? p->idle[--p->count] : NULL;
	pthread_mutex_unlock(&p->lock);
	return c;
}

struct kube_client *kube_pool_take(struct kube_pool *p, const char *token, struct err *e)
{
	struct kube_client *c = take_idle(p);
	if (!c && !(c = kube_client_new(&p->config, p->cancel_fd, e)))
		return NULL;
	kube_client_set_timeout(c, p->timeout_ms);
	if (p->anonymous)
		kube_client_set_token(c, token);
	return c;
}

void kube_pool_give(struct kube_pool *p, struct kube_client *c)
{
	if (!c)
		return;
	if (p->anonymous)
		kube_client_set_token(c, NULL);
	pthread_mutex_lock(&p->lock);
	bool kept = p->count < IDLE_MAX;
	if (kept)
		p->idle[p->count++] = c;
	pthread_mutex_unlock(&p->lock);
	if (!kept)
		kube_client_free(c);
}

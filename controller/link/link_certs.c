#include "controller/link/link_certs.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/thread.h"
#include "controller/link/link_certs_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define FILE_MAX_BYTES (256 * 1024)
#define FILES_POLL_MS 2000
#define SELF_MADE_POLL_MS 300000
#define CONFLICT_TRIES 5
#define BUNDLE_KEY "ca.crt"

struct link_certs {
	struct link_certs_config config;
	struct kube_client *client; /* NULL with files */
	struct link_pair pair;
	link_certs_fn *on_change;
	void *ctx;
	int stop_fd;
	pthread_t thread;
	bool started;
};

/* files ------------------------------------------------------------------------------------------------------------- */

static int read_pem_file(const char *path, char **out, struct err *e)
{
	AUTO_BUF struct buf text;
	if (fsio_read(AT_FDCWD, path, FILE_MAX_BYTES, &text, e) < 0)
		return -1;
	*out = buf_steal(&text);
	return 0;
}

static int look_at_files(struct link_certs *c, struct link_pair *out, struct err *e)
{
	return read_pem_file(c->config.cert_file, &out->cert, e) < 0 || read_pem_file(c->config.key_file, &out->key, e) < 0 ? -1 : 0;
}

/* self-made --------------------------------------------------------------------------------------------------------- */

static struct kube_ref certs_ref(const struct link_certs *c, const char *plural, const char *name)
{
	return (struct kube_ref){.api = KUBE_CORE, .plural = plural, .namespace = c->config.namespace, .name = name};
}

static int get_certs_object(struct link_certs *c, const struct kube_ref *ref, json_t **out, struct err *e)
{
	if (kube_get(c->client, ref, out, e) == 0)
		return 0;
	if (e->kind == ERR_NOT_FOUND)
		return err_set(e, ERR_NOT_FOUND, 0,
			       "%s %s/%s does not exist: apply deploy/manifests/20-link.yaml, or give --tls-cert and --tls-key",
			       ref->plural, ref->namespace, ref->name);
	return -1;
}

static const char *bundle_of(const json_t *config_map)
{
	return json_string_value(json_object_get(json_object_get(config_map, "data"), BUNDLE_KEY));
}

/* One look at the Secret and, where it is wanting, one write. ERR_CONFLICT: another replica was faster. */
static int mend_secret(struct link_certs *c, const char *published, struct link_secret *s, struct err *e)
{
	const struct link_certs_config *o = &c->config;
	struct kube_ref ref = certs_ref(c, "secrets", o->secret);
	AUTO_JSON json_t *object = NULL;
	if (get_certs_object(c, &ref, &object, e) < 0)
		return -1;
	link_secret_read(object, s);
	int64_t now = clock_wall_ms();
	enum link_certs_step step = link_certs_plan(s, o->names, o->name_count, published, o->stage_ms, now);
	if (step == LINK_CERTS_KEEP)
		return 0;
	if (link_certs_apply(step, s, o->names, o->name_count, now, e) < 0)
		return -1;
	link_secret_write(s, object);
	if (kube_update(c->client, &ref, object, NULL, e) < 0)
		return -1;
	static const char *const did[] = {"", "made a CA and a certificate", "renewed the certificate", "staged the next CA",
					  "serve the next CA's certificate"};
	LOG_INFO("certs", did[step], LOG_S("secret", o->secret));
	return 0;
}

static int publish_bundle(struct link_certs *c, const struct link_secret *s, const struct kube_ref *ref, json_t *object, struct err *e)
{
	const char *old = bundle_of(object);
	AUTO_FREE char *bundle = link_pki_bundle(s->ca.cert, s->next_ca.cert, old, clock_wall_ms());
	if (old && strcmp(old, bundle) == 0)
		return 0;
	if (!json_is_object(json_object_get(object, "data")))
		json_object_set_new(object, "data", json_object());
	json_object_set_new(json_object_get(object, "data"), BUNDLE_KEY, json_string(bundle));
	return kube_update(c->client, ref, object, NULL, e);
}

static int look_at_secret(struct link_certs *c, struct link_pair *out, struct err *e)
{
	struct kube_ref ref = certs_ref(c, "configmaps", c->config.config_map);
	for (int i = 0; i < CONFLICT_TRIES; i++) {
		struct link_secret s = {0};
		struct err why = ERR_INIT;
		AUTO_JSON json_t *config_map = NULL;
		int rc = get_certs_object(c, &ref, &config_map, &why);
		if (rc == 0)
			rc = mend_secret(c, bundle_of(config_map), &s, &why);
		if (rc == 0)
			rc = publish_bundle(c, &s, &ref, config_map, &why);
		if (rc == 0)
			link_pair_copy(out, &s.server);
		link_secret_fini(&s);
		*e = why;
		if (rc == 0 || why.kind != ERR_CONFLICT)
			return rc;
	}
	return -1;
}

/* both -------------------------------------------------------------------------------------------------------------- */

static int read_link_pair(struct link_certs *c, struct link_pair *out, struct err *e)
{
	*out = (struct link_pair){0};
	int rc = c->client ? look_at_secret(c, out, e) : look_at_files(c, out, e);
	if (rc < 0)
		link_pair_fini(out);
	return rc;
}

static void reload_link_pair(struct link_certs *c)
{
	struct link_pair now;
	struct err e = ERR_INIT;
	if (read_link_pair(c, &now, &e) < 0) {
		if (e.kind != ERR_CANCELED)
			LOG_WARN("certs", "the link's certificate could not be looked at; the old one is served", LOG_S("error", e.message));
		return;
	}
	if (strcmp(now.cert, c->pair.cert) == 0 && strcmp(now.key, c->pair.key) == 0) {
		link_pair_fini(&now);
		return;
	}
	link_pair_fini(&c->pair);
	c->pair = now;
	c->on_change(c->ctx, now.cert, now.key);
}

static void *run_link_certs(void *arg)
{
	struct link_certs *c = arg;
	struct pollfd p = {.fd = c->stop_fd, .events = POLLIN};
	while (poll(&p, 1, (int)c->config.poll_ms) == 0)
		reload_link_pair(c);
	return NULL;
}

static int64_t self_made_poll_ms(int64_t stage_ms)
{
	int64_t quarter_ms = stage_ms / 4;
	return quarter_ms < SELF_MADE_POLL_MS ? quarter_ms : SELF_MADE_POLL_MS;
}

struct link_certs *link_certs_new(const struct link_certs_config *config, struct err *e)
{
	struct link_certs *c = mem_alloc(sizeof *c);
	c->config = *config;
	bool self_made = !config->cert_file;
	if (!c->config.stage_ms)
		c->config.stage_ms = LINK_CERTS_STAGE_MS;
	if (!c->config.poll_ms)
		c->config.poll_ms = self_made ? self_made_poll_ms(c->config.stage_ms) : FILES_POLL_MS;
	c->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int rc = c->stop_fd < 0 ? err_set_errno(e, errno, "eventfd") : 0;
	if (rc == 0 && self_made && !(c->client = kube_client_new(config->kube, c->stop_fd, e)))
		rc = -1;
	if (rc == 0 && read_link_pair(c, &c->pair, e) == 0)
		return c;
	link_certs_free(c);
	return NULL;
}

int link_certs_watch(struct link_certs *c, link_certs_fn *on_change, void *ctx, struct err *e)
{
	c->on_change = on_change;
	c->ctx = ctx;
	c->started = thread_start(&c->thread, "certs", THREAD_STACK_USUAL, run_link_certs, c, e) == 0;
	return c->started ? 0 : -1;
}

void link_certs_free(struct link_certs *c)
{
	if (!c)
		return;
	if (c->started) {
		eventfd_write(c->stop_fd, 1);
		pthread_join(c->thread, NULL);
	}
	kube_client_free(c->client);
	if (c->stop_fd >= 0)
		close(c->stop_fd);
	link_pair_fini(&c->pair);
	free(c);
}

const struct link_pair *link_certs_pair(const struct link_certs *c)
{
	return &c->pair;
}

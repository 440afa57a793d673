#include "agent/link/link_ca.h"

#include "agent/link/link_policy.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/http.h"
#include "common/base/http_url.h"
#include "common/base/jsonx.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/rand.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#define STACK_BYTES (256 * 1024)
#define ANSWER_MS 5000
#define ANSWER_MAX_BYTES (512 * 1024)
#define TOKEN_MAX_BYTES 16384
#define URL_MAX_BYTES 2048

struct link_ca {
	char *file, *config_map, *server, *access, *copy;
	pthread_t thread;
	bool started;
	int stop_fd; /* eventfd: readable when the thread is to end */
};

static bool is_there(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && st.st_size > 0;
}

const char *link_ca_file(const struct link_ca *c)
{
	if (!c)
		return NULL;
	return is_there(c->file) || !is_there(c->copy) ? c->file : c->copy;
}

int64_t link_ca_wait_ms(int asked, uint32_t random)
{
	return link_spread_ms(clock_doubled_ms(LINK_CA_FIRST_MS, LINK_CA_MOST_MS, asked - 1), random);
}

/* One of the files that a pod gets for the API server, without the new line at its end. */
static char *read_access(const struct link_ca *c, const char *name, struct err *e)
{
	AUTO_FREE char *path = mem_printf("%s/%s", c->access, name);
	AUTO_FREE char *text = mem_alloc(TOKEN_MAX_BYTES);
	if (fsio_read_small(AT_FDCWD, path, text, TOKEN_MAX_BYTES) > 0)
		return steal_ptr(&text);
	err_set_errno(e, errno, "read %.200s", path);
	return NULL;
}

static int config_map_url(const struct link_ca *c, struct buf *out, struct err *e)
{
	AUTO_FREE char *namespace = read_access(c, "namespace", e), *base = mem_printf("%s/api/v1/namespaces", c->server);
	buf_init(out, URL_MAX_BYTES);
	if (!namespace)
		return -1;
	if (http_url_begin(out, base) < 0 || http_url_segment(out, namespace) < 0 || http_url_segment(out, "configmaps") < 0 ||
	    http_url_segment(out, c->config_map) < 0)
		return err_set(e, ERR_INVALID, 0, "the API server's URL is too long");
	return 0;
}

static int get_config_map(const struct link_ca *c, struct http_response *r, struct err *e)
{
	AUTO_BUF struct buf url = {0};
	AUTO_FREE char *token = read_access(c, "token", e), *authority = mem_printf("%s/ca.crt", c->access);
	if (!token || config_map_url(c, &url, e) < 0)
		return -1;
	struct http_client *client = http_client_new(&(struct http_tls){.ca_file = authority}, e);
	if (!client)
		return -1;
	struct http_request q = {.method = "GET", .url = buf_str(&url), .bearer_token = token, .timeout_ms = ANSWER_MS, .cancel_fd = c->stop_fd,
				 .max_response_bytes = ANSWER_MAX_BYTES};
	int rc = http_perform(client, &q, r, e);
	http_client_free(client);
	if (rc == 0 && r->status != 200)
		return err_set(e, http_status_kind(r->status), r->status, "the API server answered %d", r->status);
	return rc;
}

/* Asks once, and keeps what is there. 1: kept. 0: the controller has not published it yet. */
static int ask_for_ca(const struct link_ca *c, struct err *e)
{
	struct http_response r = {0};
	AUTO_JSON json_t *map = NULL;
	int rc = get_config_map(c, &r, e);
	if (rc == 0) {
		map = jsonx_parse(buf_str(&r.body), r.body.len, "the ConfigMap", e);
		rc = map ? 0 : -1;
	}
	http_response_fini(&r);
	const json_t *text = rc == 0 ? json_object_get(json_object_get(map, "data"), "ca.crt") : NULL; /* a key with a dot */
	if (!json_string_length(text))
		return rc;
	return fsio_write_atomic(c->copy, json_string_value(text), json_string_length(text), 0600, e) < 0 ? -1 : 1;
}

static bool sleep_until_stopped(const struct link_ca *c, int64_t ms)
{
	struct pollfd p = {.fd = c->stop_fd, .events = POLLIN};
	return poll(&p, 1, (int)ms) > 0;
}

static void *run_link_ca(void *arg)
{
	struct link_ca *c = arg;
	bool kept = false, refused = false;
	int64_t wait = 0;
	for (int asked = 1; !sleep_until_stopped(c, wait) && !is_there(c->file); asked++) {
		struct err e = ERR_INIT;
		int rc = ask_for_ca(c, &e);
		if (rc < 0 && !refused)
			LOG_WARN("link", "the controller's authority cannot be asked for: the kubelet will bring it", LOG_S("error", e.message));
		if (rc > 0 && !kept)
			LOG_INFO("link", "the controller's authority was read from its ConfigMap", LOG_S("name", c->config_map));
		refused = rc < 0;
		kept |= rc > 0;
		uint32_t random = 0;
		RAND_bytes((unsigned char *)&random, sizeof random);
		wait = kept ? LINK_CA_KEPT_MS : link_ca_wait_ms(asked, random);
	}
	unlink(c->copy);
	return NULL;
}

struct link_ca *link_ca_new(const struct link_ca_config *config, struct err *e)
{
	struct link_ca *c = mem_alloc(sizeof *c);
	*c = (struct link_ca){mem_strdup(config->file), mem_strdup(config->config_map), mem_strdup(config->server), mem_strdup(config->access),
			      mem_strdup(config->copy), .stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	unlink(c->copy);
	if (c->stop_fd < 0)
		err_set_errno(e, errno, "make an eventfd");
	else if (!c->config_map || !c->server || is_there(c->file))
		return c;
	else if (thread_start(&c->thread, "link-ca", STACK_BYTES, run_link_ca, c, e) == 0)
		c->started = true;
	if (c->started)
		return c;
	link_ca_free(c);
	return NULL;
}

void link_ca_free(struct link_ca *c)
{
	if (!c)
		return;
	if (c->started && eventfd_write(c->stop_fd, 1) == 0)
		pthread_join(c->thread, NULL);
	cleanup_fd(&c->stop_fd);
	free(c->file);
	free(c->config_map);
	free(c->server);
	free(c->access);
	free(c->copy);
	free(c);
}

#include "agent/serve/serve.h"

#include "agent/cli/cli_library.h"
#include "agent/serve/serve_backend.h"
#include "agent/serve/serve_document.h"
#include "agent/serve/serve_token.h"
#include "common/base/cleanup.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"
#include "common/rest/rest_events.h"
#include "common/web_ui/page_files.h"
#include "common/rest/rest_api.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define LOOPBACK "127.0.0.1"
#define PEM_MAX (256 * 1024)

struct serve {
	const struct cli_args *a;
	bool page, api;
	int signal_fd;
	char *dir, *library, *token;
	char own_name[256];
	struct buf cert, key;
	struct serve_backend backend;
	struct rest_api *rest;
	struct web_server *server;
};

char *serve_default_dir(const char *xdg_state_home, const char *home)
{
	if (xdg_state_home && xdg_state_home[0] == '/')
		return mem_printf("%s/drdotnet/reports", xdg_state_home);
	if (home && home[0] == '/')
		return mem_printf("%s/.local/state/drdotnet/reports", home);
	return NULL;
}

/* "host", "host:port", "[v6]:port" */
bool serve_host_allowed(const char *host, const char *own_name)
{
	char name[256], address[16];
	bool v6 = *host == '[';
	size_t len = strcspn(host + v6, v6 ? "]" : ":");
	const char *rest = host + v6 + len;
	if (v6 && *rest++ != ']')
		return false;
	if (len == 0 || len >= sizeof name || (*rest && (*rest != ':' || rest[1 + strspn(rest + 1, "0123456789")])))
		return false;
	memcpy(name, host + v6, len);
	name[len] = '\0';
	if (inet_pton(v6 ? AF_INET6 : AF_INET, name, address) == 1)
		return true;
	return !v6 && (strcasecmp(name, "localhost") == 0 || (own_name[0] && strcasecmp(name, own_name) == 0));
}

static bool host_allowed(void *ctx, const char *host)
{
	const struct serve *s = ctx;
	return serve_host_allowed(host, s->own_name);
}

static void session_changed(void *ctx, const char *name)
{
	const struct serve *s = ctx;
	if (s->rest)
		rest_api_session_changed(s->rest, SERVE_NAMESPACE, name);
}

/* Steps ----------------------------------------------------------------------------------------------------------- */

static bool is_off(const char *variable)
{
	const char *value = getenv(variable);
	return value && (strcasecmp(value, "false") == 0 || strcmp(value, "0") == 0);
}

static int read_options(struct serve *s, struct err *e)
{
	s->page = !s->a->no_web_ui && !is_off("WEB_UI_ENABLED");
	s->api = !s->a->no_rest_api && !is_off("REST_API_ENABLED");
	if (!s->page && !s->api)
		return err_set(e, ERR_INVALID, 0, "nothing is left to serve: WEB_UI_ENABLED and REST_API_ENABLED are false");
	s->dir = s->a->reports ? mem_strdup(s->a->reports) : serve_default_dir(getenv("XDG_STATE_HOME"), getenv("HOME"));
	if (!s->dir)
		return err_set(e, ERR_INVALID, 0, "say by --reports where sessions are kept: neither XDG_STATE_HOME nor HOME names a folder");
	if (gethostname(s->own_name, sizeof s->own_name - 1) < 0)
		s->own_name[0] = '\0';
	return 0;
}

static int read_tls(struct serve *s, struct err *e)
{
	if (!s->a->tls_cert)
		return 0;
	return fsio_read(AT_FDCWD, s->a->tls_cert, PEM_MAX, &s->cert, e) < 0 || fsio_read(AT_FDCWD, s->a->tls_key, PEM_MAX, &s->key, e) < 0 ? -1 : 0;
}

/* Before the first thread, which inherits it. */
static int catch_serve_signals(struct serve *s, struct err *e)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signal_fd >= 0 ? 0 : err_set_errno(e, errno, "signalfd");
}

static int get_token(struct serve *s, struct err *e)
{
	s->token = serve_token_get(s->a->token_file, e);
	return s->token ? 0 : -1;
}

static int find_serve_library(struct serve *s, struct err *e)
{
	s->library = cli_library_find(e);
	return s->library ? 0 : -1;
}

static int open_sessions(struct serve *s, struct err *e)
{
	struct serve_sessions_config config = {
		.dir = s->dir,
		.library_path = s->library,
		.at_once = s->a->at_once ? (size_t)s->a->at_once : 2,
		.changed = session_changed,
		.changed_ctx = s,
	};
	s->backend.token = s->token;
	s->backend.processes = serve_processes_new();
	s->backend.sessions = serve_sessions_new(&config, e);
	if (!s->backend.sessions)
		return -1;
	struct rest_backend backend = serve_backend_make(&s->backend);
	s->rest = rest_api_new(&backend);
	return 0;
}

static int start_server(struct serve *s, struct err *e)
{
	struct web_server_config config = {
		.bind_address = s->a->bind ? s->a->bind : LOOPBACK,
		.port = (int)s->a->port,
		.cert_pem = s->a->tls_cert ? buf_str(&s->cert) : NULL,
		.key_pem = s->a->tls_cert ? buf_str(&s->key) : NULL,
		.host_allowed = host_allowed,
		.host_ctx = s,
	};
	s->server = web_server_new(&config);
	if (s->page)
		page_files_add_routes(s->server);
	if (s->api)
		rest_api_add_routes(s->rest, s->server);
	return web_server_start(s->server, e);
}

static bool is_loopback(const char *address)
{
	return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0 || strcmp(address, "localhost") == 0;
}

static int say_where(struct serve *s, struct err *e)
{
	const char *address = s->a->bind ? s->a->bind : LOOPBACK;
	bool any = strcmp(address, "0.0.0.0") == 0 || strcmp(address, "::") == 0, v6 = strchr(address, ':') != NULL;
	const char *shown = any ? s->own_name : address;
	(void)e;
	printf("Dr-Dotnet serves the .NET processes of this machine. Sessions are kept in %s\n\n  %s://%s%s%s:%d/%s%s\n\nCtrl-C ends it.\n", s->dir,
	       s->a->tls_cert ? "https" : "http", v6 && !any ? "[" : "", shown, v6 && !any ? "]" : "", web_server_port(s->server),
	       s->page ? "#token=" : "api/\n\n  Authorization: Bearer ", s->token);
	fflush(stdout);
	if (!is_loopback(address) && !s->a->tls_cert)
		fprintf(stderr, "drdotnet: warning: others on the network can read the token and the reports; give --tls-cert and --tls-key\n");
	return 0;
}

static int wait_for_signal(struct serve *s, struct err *e)
{
	struct pollfd p = {.fd = s->signal_fd, .events = POLLIN};
	while (poll(&p, 1, -1) < 0)
		if (errno != EINTR)
			return err_set_errno(e, errno, "waiting for signals");
	return 0;
}

/* The server first: nothing new begins. Then the sessions, which leave their processes. */
static void end_serve(struct serve *s)
{
	web_server_free(s->server);
	serve_sessions_free(s->backend.sessions);
	serve_processes_free(s->backend.processes);
	rest_api_free(s->rest);
	if (s->signal_fd >= 0)
		close(s->signal_fd);
	buf_fini(&s->cert);
	buf_fini(&s->key);
	free(s->dir);
	free(s->library);
	free(s->token);
}

typedef int serve_step(struct serve *s, struct err *e);

int serve_run(const struct cli_args *a)
{
	static serve_step *const steps[] = {read_options, read_tls,	 catch_serve_signals, get_token,	find_serve_library,
					    open_sessions, start_server, say_where,	wait_for_signal};
	struct serve s = {.a = a, .signal_fd = -1};
	struct err e = ERR_INIT;
	int rc = 0;
	for (size_t i = 0; i < sizeof steps / sizeof *steps && rc == 0; i++)
		rc = steps[i](&s, &e);
	end_serve(&s);
	if (rc == 0)
		return CLI_OK;
	fprintf(stderr, "drdotnet: %s\n", e.message);
	return e.kind == ERR_INVALID ? CLI_USAGE : CLI_FAILED;
}

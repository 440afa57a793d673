#include "common/web/web_net.h"

#include "common/base/cleanup.h"
#include "common/base/log.h"
#include "common/base/mem.h"

#include <arpa/inet.h>
#include <libwebsockets.h>
#include <string.h>

static void log_line(int level, const char *line)
{
	AUTO_FREE char *text = mem_strndup(line, strcspn(line, "\n"));
	if (level == LLL_ERR)
		LOG_WARN("net", "libwebsockets", LOG_S("message", text));
	else
		LOG_DEBUG("net", "libwebsockets", LOG_S("message", text));
}

void web_net_log(void)
{
	lws_set_log_level(LLL_ERR | LLL_WARN, log_line);
}

/* Where IPv6 is on, lws 4.1 takes an IPv4 address for "any": it writes it into a sockaddr_in6's flow label. */
uint64_t web_net_bind_options(const char *address)
{
	struct in_addr v4;
	bool is_v4 = address && inet_pton(AF_INET, address, &v4) == 1;
	return LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND | (is_v4 ? LWS_SERVER_OPTION_DISABLE_IPV6 : 0);
}

void web_net_set_up_tls(SSL_CTX *tls)
{
	SSL_CTX_set_mode(tls, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_options(tls, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_num_tickets(tls, 0);
	SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
}

bool web_net_pass_over_h2c(char *protocol)
{
	if (strcasecmp(protocol, "h2c") != 0)
		return false;
	memset(protocol, '-', strlen(protocol));
	return true;
}

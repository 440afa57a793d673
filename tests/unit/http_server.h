/* An HTTP server on loopback for unit tests, in a thread: to each connection it answers by a script, and remembers what it was sent.
 * With a certificate it speaks TLS. Made and ended by one thread; what it remembers is read after http_server_stop(). */
#ifndef DRDOTNET_TESTS_HTTP_SERVER_H
#define DRDOTNET_TESTS_HTTP_SERVER_H

#include "common/base/buf.h"
#include "common/base/clock.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <poll.h>
#include <unistd.h>

struct http_script {
	const char *text;     /* what is answered when the head has come; NULL: nothing */
	size_t text_len;      /* 0: strlen */
	int pieces;           /* sent in so many pieces, ... */
	int64_t gap_ms;       /* ... so far apart */
	bool keep_open;       /* afterwards, until the client closes or the server is stopped; answers the next request the same way */
	bool reads_no_body;
};

struct http_server {
	int listener, stop_fd, port;
	const struct http_script *script;
	SSL_CTX *tls;
	pthread_t thread;
	struct buf received;  /* heads and bodies of all requests */
	int connections, requests;
};

struct http_peer {
	int fd;
	SSL *ssl;
};

static inline ssize_t peer_read(struct http_peer *p, char *out, size_t size)
{
	return p->ssl ? SSL_read(p->ssl, out, (int)size) : recv(p->fd, out, size, 0);
}

static inline bool peer_write(struct http_peer *p, const char *data, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = p->ssl ? SSL_write(p->ssl, data + at, (int)(len - at)) : send(p->fd, data + at, len - at, MSG_NOSIGNAL);
		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

/* False when the server is to stop, or at the time limit. */
static inline bool peer_wait(const struct http_server *s, int fd)
{
	struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = s->stop_fd, .events = POLLIN}};
	return poll(p, 2, 20000) > 0 && !p[1].revents;
}

/* Reads a head and, by its Content-Length, a body. False when the client has gone. */
static inline bool read_request(struct http_server *s, struct http_peer *p)
{
	size_t start = s->received.len, wanted = 0;
	char chunk[4096];
	for (;;) {
		const char *head = buf_str(&s->received) + start, *end = strstr(head, "\r\n\r\n");
		if (end && !wanted) {
			const char *length = strstr(head, "Content-Length: ");
			bool has_body = length && length < end && !s->script->reads_no_body;
			wanted = (size_t)(end + 4 - head) + (has_body ? (size_t)atoll(length + strlen("Content-Length: ")) : 0);
		}
		if (wanted && s->received.len - start >= wanted)
			return true;
		if (!(p->ssl && SSL_pending(p->ssl)) && !peer_wait(s, p->fd))
			return false;
		ssize_t n = peer_read(p, chunk, sizeof chunk);
		if (n <= 0)
			return false;
		buf_append(&s->received, chunk, (size_t)n);
	}
}

static inline bool answer_request(struct http_server *s, struct http_peer *p)
{
	const struct http_script *script = s->script;
	size_t len = script->text_len ? script->text_len : script->text ? strlen(script->text) : 0;
	size_t pieces = script->pieces > 0 ? (size_t)script->pieces : 1;
	for (size_t i = 0; i < pieces; i++) {
		size_t from = len * i / pieces, to = len * (i + 1) / pieces;
		if (i > 0 && script->gap_ms)
			clock_sleep_until_ms(clock_mono_ms() + script->gap_ms);
		if (!peer_write(p, script->text + from, to - from))
			return false;
	}
	return true;
}

static inline void serve_connection(struct http_server *s, int fd)
{
	struct http_peer p = {.fd = fd};
	if (s->tls) {
		p.ssl = SSL_new(s->tls);
		SSL_set_fd(p.ssl, fd);
		if (SSL_accept(p.ssl) != 1) {
			SSL_free(p.ssl);
			return;
		}
	}
	while (read_request(s, &p)) {
		s->requests++;
		if (!answer_request(s, &p) || !s->script->keep_open)
			break;
	}
	if (p.ssl)
		SSL_shutdown(p.ssl);
	SSL_free(p.ssl);
}

static inline void *http_server_run(void *arg)
{
	struct http_server *s = arg;
	while (peer_wait(s, s->listener)) {
		int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			break;
		s->connections++;
		serve_connection(s, fd);
		shutdown(fd, SHUT_WR);
		char rest[4096];
		while (s->script->reads_no_body && peer_wait(s, fd) && recv(fd, rest, sizeof rest, 0) > 0)
			; /* a close with unread bytes would take the answer back */
		close(fd);
	}
	return NULL;
}

/* cert_pem NULL: plain HTTP. */
static inline void http_server_start(struct http_server *s, const struct http_script *script, const char *cert_pem, const char *key_pem)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof at;
	*s = (struct http_server){.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .stop_fd = eventfd(0, EFD_CLOEXEC), .script = script};
	buf_init(&s->received, 16 << 20);
	cr_assert_eq(bind(s->listener, (struct sockaddr *)&at, sizeof at), 0);
	cr_assert_eq(listen(s->listener, 16), 0);
	cr_assert_eq(getsockname(s->listener, (struct sockaddr *)&at, &size), 0);
	s->port = ntohs(at.sin_port);
	if (cert_pem) {
		BIO *cert_bio = BIO_new_mem_buf(cert_pem, -1), *key_bio = BIO_new_mem_buf(key_pem, -1);
		X509 *cert = PEM_read_bio_X509(cert_bio, NULL, NULL, NULL);
		EVP_PKEY *key = PEM_read_bio_PrivateKey(key_bio, NULL, NULL, NULL);
		s->tls = SSL_CTX_new(TLS_server_method());
		cr_assert_eq(SSL_CTX_use_certificate(s->tls, cert), 1);
		cr_assert_eq(SSL_CTX_use_PrivateKey(s->tls, key), 1);
		X509_free(cert);
		EVP_PKEY_free(key);
		BIO_free(cert_bio);
		BIO_free(key_bio);
	}
	cr_assert_eq(pthread_create(&s->thread, NULL, http_server_run, s), 0);
}

/* Ends the thread; what was received can still be read. */
static inline void http_server_stop(struct http_server *s)
{
	eventfd_write(s->stop_fd, 1);
	pthread_join(s->thread, NULL);
	close(s->listener);
	close(s->stop_fd);
	SSL_CTX_free(s->tls);
	s->tls = NULL;
}

static inline void http_server_fini(struct http_server *s)
{
	buf_fini(&s->received);
}

#endif

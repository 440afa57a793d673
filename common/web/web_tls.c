#include "common/web/web_tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>

static void cleanup_bio(BIO **b)
{
	BIO_free(*b);
}

static void cleanup_x509(X509 **x)
{
	X509_free(*x);
}

static void cleanup_key(EVP_PKEY **k)
{
	EVP_PKEY_free(*k);
}

static int refuse_certificate(struct err *e, const char *what)
{
	char why[160];
	ERR_error_string_n(ERR_get_error(), why, sizeof why);
	ERR_clear_error();
	return err_set(e, ERR_INVALID, 0, "cannot use the certificate: %s: %s", what, why);
}

/* A pass phrase is never asked for on a terminal: an encrypted key is a refusal. */
static int no_passphrase(char *out, int size, int writing, void *ctx)
{
	(void)out, (void)size, (void)writing, (void)ctx;
	return 0;
}

static int use_chain(SSL_CTX *tls, BIO *pem, struct err *e)
{
	SSL_CTX_clear_chain_certs(tls);
	X509 *ca;
	while ((ca = PEM_read_bio_X509(pem, NULL, no_passphrase, NULL))) {
		if (SSL_CTX_add0_chain_cert(tls, ca) != 1) {
			X509_free(ca);
			return refuse_certificate(e, "chain");
		}
	}
	ERR_clear_error(); /* the end of the text is an error to PEM_read_bio_X509 */
	return 0;
}

int web_tls_use(SSL_CTX *tls, const char *cert_pem, const char *key_pem, struct err *e)
{
	__attribute__((cleanup(cleanup_bio))) BIO *chain = BIO_new_mem_buf(cert_pem, -1);
	__attribute__((cleanup(cleanup_bio))) BIO *key_text = BIO_new_mem_buf(key_pem, -1);
	__attribute__((cleanup(cleanup_x509))) X509 *leaf = PEM_read_bio_X509(chain, NULL, no_passphrase, NULL);
	if (!leaf)
		return refuse_certificate(e, "certificate");
	__attribute__((cleanup(cleanup_key))) EVP_PKEY *key = PEM_read_bio_PrivateKey(key_text, NULL, no_passphrase, NULL);
	if (!key)
		return refuse_certificate(e, "key");
	if (X509_check_private_key(leaf, key) != 1)
		return refuse_certificate(e, "key and certificate do not belong together");
	if (SSL_CTX_use_certificate(tls, leaf) != 1 || SSL_CTX_use_PrivateKey(tls, key) != 1)
		return refuse_certificate(e, "certificate and key");
	return use_chain(tls, chain, e);
}

int web_tls_check(const char *cert_pem, const char *key_pem, struct err *e)
{
	SSL_CTX *trial = SSL_CTX_new(TLS_server_method());
	if (!trial)
		return err_set(e, ERR_INTERNAL, 0, "cannot make a TLS context");
	int rc = web_tls_use(trial, cert_pem, key_pem, e);
	SSL_CTX_free(trial);
	return rc;
}

#include "controller/link/link_pki.h"

#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SERIAL_BITS 127

/* OpenSSL's types by scope. */
#define DEFINE_CLEANUP(type, free_it)                     \
	static void cleanup_##type(type **p)              \
	{                                                 \
		free_it(*p);                              \
	}
DEFINE_CLEANUP(X509, X509_free)
DEFINE_CLEANUP(EVP_PKEY, EVP_PKEY_free)
DEFINE_CLEANUP(BIO, BIO_free)
DEFINE_CLEANUP(BIGNUM, BN_free)
#define AUTO_X509 __attribute__((cleanup(cleanup_X509)))
#define AUTO_KEY __attribute__((cleanup(cleanup_EVP_PKEY)))
#define AUTO_BIO __attribute__((cleanup(cleanup_BIO)))
#define AUTO_BN __attribute__((cleanup(cleanup_BIGNUM)))

void link_pair_fini(struct link_pair *p)
{
	if (!p)
		return;
	free(p->cert);
	if (p->key)
		OPENSSL_cleanse(p->key, strlen(p->key));
	free(p->key);
	*p = (struct link_pair){0};
}

void link_pair_copy(struct link_pair *out, const struct link_pair *from)
{
	*out = (struct link_pair){mem_strdup(from->cert), mem_strdup(from->key)};
}

static int pki_failed(struct err *e, const char *what)
{
	char why[160];
	ERR_error_string_n(ERR_get_error(), why, sizeof why);
	ERR_clear_error();
	return err_set(e, ERR_INTERNAL, 0, "cannot make the link's certificates: %s: %s", what, why);
}

static X509 *read_cert(BIO *bio)
{
	X509 *x = PEM_read_bio_X509(bio, NULL, NULL, (void *)"");
	if (!x)
		ERR_clear_error();
	return x;
}

static char *bio_text(BIO *bio)
{
	char *data = NULL;
	long len = BIO_get_mem_data(bio, &data);
	return len > 0 ? mem_strndup(data, (size_t)len) : mem_strdup("");
}

static int write_pair(X509 *x, EVP_PKEY *key, struct link_pair *out, struct err *e)
{
	AUTO_BIO BIO *cert_text = BIO_new(BIO_s_mem());
	AUTO_BIO BIO *key_text = BIO_new(BIO_s_secmem());
	if (!cert_text || !key_text || PEM_write_bio_X509(cert_text, x) != 1 ||
	    PEM_write_bio_PrivateKey(key_text, key, NULL, NULL, 0, NULL, NULL) != 1)
		return pki_failed(e, "PEM");
	out->cert = bio_text(cert_text);
	out->key = bio_text(key_text);
	return 0;
}

static int set_serial(X509 *x)
{
	AUTO_BN BIGNUM *n = BN_new();
	return n && BN_rand(n, SERIAL_BITS, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x)) ? 0 : -1;
}

static int add_extension(X509 *x, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
	X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	if (!ext)
		return -1;
	int ok = X509_add_ext(x, ext, -1);
	X509_EXTENSION_free(ext);
	return ok == 1 ? 0 : -1;
}

/* Everything but extensions, issuer's name and signature. Clocks differ, so it is valid from an hour ago. */
static X509 *begin_certificate(EVP_PKEY *key, const char *common_name, int64_t now_wall_ms, int days)
{
	X509 *x = X509_new();
	time_t now = (time_t)(now_wall_ms / 1000), from = now - 3600, until = now + (time_t)days * 86400;
	if (x && X509_set_version(x, 2) == 1 && set_serial(x) == 0 && ASN1_TIME_set(X509_getm_notBefore(x), from) &&
	    ASN1_TIME_set(X509_getm_notAfter(x), until) && X509_set_pubkey(x, key) == 1 &&
	    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC, (const unsigned char *)common_name, -1, -1, 0) == 1)
		return x;
	X509_free(x);
	return NULL;
}

int link_pki_make_ca(int64_t now_wall_ms, int days, struct link_pair *out, struct err *e)
{
	AUTO_KEY EVP_PKEY *key = EVP_EC_gen("P-256");
	/* A name of its own, so that several CAs in one bundle are told apart. */
	char name[64];
	snprintf(name, sizeof name, "drdotnet link CA %lld", (long long)(now_wall_ms / 1000));
	AUTO_X509 X509 *x = key ? begin_certificate(key, name, now_wall_ms, days) : NULL;
	if (!x || X509_set_issuer_name(x, X509_get_subject_name(x)) != 1 ||
	    add_extension(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") < 0 ||
	    add_extension(x, x, NID_key_usage, "critical,keyCertSign,cRLSign") < 0 ||
	    add_extension(x, x, NID_subject_key_identifier, "hash") < 0 || X509_sign(x, key, EVP_sha256()) <= 0)
		return pki_failed(e, "CA");
	return write_pair(x, key, out, e);
}

static int add_names(X509 *x, const char *const *names, size_t count)
{
	AUTO_BUF struct buf san;
	buf_init(&san, 4096);
	for (size_t i = 0; i < count; i++)
		buf_printf(&san, "%sDNS:%s", i ? "," : "", names[i]);
	return san.full ? -1 : add_extension(x, x, NID_subject_alt_name, buf_str(&san));
}

int link_pki_issue(const struct link_pair *ca, const char *const *names, size_t name_count, int64_t now_wall_ms, int days,
		   struct link_pair *out, struct err *e)
{
	AUTO_BIO BIO *ca_text = BIO_new_mem_buf(ca->cert, -1);
	AUTO_BIO BIO *ca_key_text = BIO_new_mem_buf(ca->key, -1);
	AUTO_X509 X509 *issuer = ca_text ? read_cert(ca_text) : NULL;
	AUTO_KEY EVP_PKEY *issuer_key = ca_key_text ? PEM_read_bio_PrivateKey(ca_key_text, NULL, NULL, (void *)"") : NULL;
	if (!issuer || !issuer_key)
		return pki_failed(e, "the CA cannot be read");
	AUTO_KEY EVP_PKEY *key = EVP_EC_gen("P-256");
	AUTO_X509 X509 *x = key ? begin_certificate(key, "drdotnet-controller", now_wall_ms, days) : NULL;
	if (!x || X509_set_issuer_name(x, X509_get_subject_name(issuer)) != 1 || add_names(x, names, name_count) < 0 ||
	    add_extension(x, issuer, NID_basic_constraints, "critical,CA:FALSE") < 0 ||
	    add_extension(x, issuer, NID_key_usage, "critical,digitalSignature") < 0 ||
	    add_extension(x, issuer, NID_ext_key_usage, "serverAuth") < 0 ||
	    add_extension(x, issuer, NID_authority_key_identifier, "keyid") < 0 || X509_sign(x, issuer_key, EVP_sha256()) <= 0)
		return pki_failed(e, "server certificate");
	return write_pair(x, key, out, e);
}

static int64_t wall_ms_of(const ASN1_TIME *t)
{
	struct tm tm;
	return ASN1_TIME_to_tm(t, &tm) == 1 ? (int64_t)timegm(&tm) * 1000 : 0;
}

static bool is_issued_by(X509 *x, const char *ca_pem)
{
	AUTO_BIO BIO *text = BIO_new_mem_buf(ca_pem, -1);
	AUTO_X509 X509 *ca = text ? read_cert(text) : NULL;
	bool good = ca && X509_check_issued(ca, x) == X509_V_OK && X509_verify(x, X509_get0_pubkey(ca)) == 1;
	ERR_clear_error();
	return good;
}

int link_pki_inspect(const char *cert_pem, const char *ca_pem, const char *const *names, size_t name_count, struct link_cert_info *out,
		     struct err *e)
{
	*out = (struct link_cert_info){.covers_names = true};
	AUTO_BIO BIO *text = BIO_new_mem_buf(cert_pem, -1);
	AUTO_X509 X509 *x = text ? read_cert(text) : NULL;
	if (!x)
		return err_set(e, ERR_INVALID, 0, "no certificate in PEM form");
	out->not_before_wall_ms = wall_ms_of(X509_get0_notBefore(x));
	out->not_after_wall_ms = wall_ms_of(X509_get0_notAfter(x));
	for (size_t i = 0; i < name_count; i++)
		out->covers_names &= X509_check_host(x, names[i], 0, 0, NULL) == 1;
	out->issued_by_ca = ca_pem && is_issued_by(x, ca_pem);
	return 0;
}

/* Bundles --------------------------------------------------------------------------------------------------------- */

struct bundle {
	X509 *items[LINK_PKI_BUNDLE_MAX];
	size_t count;
};

static void bundle_add(struct bundle *b, X509 *x, int64_t now_wall_ms)
{
	bool wanted = b->count < LINK_PKI_BUNDLE_MAX && wall_ms_of(X509_get0_notAfter(x)) > now_wall_ms;
	for (size_t i = 0; i < b->count; i++)
		wanted = wanted && X509_cmp(b->items[i], x) != 0;
	if (wanted)
		b->items[b->count++] = x;
	else
		X509_free(x);
}

static void bundle_add_text(struct bundle *b, const char *pem, int64_t now_wall_ms)
{
	AUTO_BIO BIO *text = pem ? BIO_new_mem_buf(pem, -1) : NULL;
	X509 *x;
	while (text && (x = read_cert(text)))
		bundle_add(b, x, now_wall_ms);
}

char *link_pki_bundle(const char *current, const char *next, const char *old, int64_t now_wall_ms)
{
	struct bundle b = {0};
	bundle_add_text(&b, current, now_wall_ms);
	bundle_add_text(&b, next, now_wall_ms);
	bundle_add_text(&b, old, now_wall_ms);
	AUTO_BIO BIO *out = BIO_new(BIO_s_mem());
	for (size_t i = 0; i < b.count; i++) {
		PEM_write_bio_X509(out, b.items[i]);
		X509_free(b.items[i]);
	}
	return bio_text(out);
}

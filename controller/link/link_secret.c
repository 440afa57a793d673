#include "controller/link/link_secret.h"

#include "common/base/base64.h"
#include "common/base/cleanup.h"

#include <openssl/crypto.h>
#include <string.h>

#define VALUE_MAX_CHARS (64 * 1024)

static const struct {
	const char *key;
	size_t at;
} fields[] = {
	{"ca.crt", offsetof(struct link_secret, ca.cert)},
	{"ca.key", offsetof(struct link_secret, ca.key)},
	{"next-ca.crt", offsetof(struct link_secret, next_ca.cert)},
	{"next-ca.key", offsetof(struct link_secret, next_ca.key)},
	{"tls.crt", offsetof(struct link_secret, server.cert)},
	{"tls.key", offsetof(struct link_secret, server.key)},
};
#define FIELD_COUNT (sizeof fields / sizeof fields[0])

void link_secret_fini(struct link_secret *s)
{
	link_pair_fini(&s->ca);
	link_pair_fini(&s->next_ca);
	link_pair_fini(&s->server);
}

void link_secret_read(const json_t *object, struct link_secret *out)
{
	*out = (struct link_secret){0};
	const json_t *data = json_object_get(object, "data");
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		const char *text = json_string_value(json_object_get(data, fields[i].key));
		if (text)
			*(char **)((char *)out + fields[i].at) = base64_decode(text, VALUE_MAX_CHARS, NULL);
	}
}

void link_secret_write(const struct link_secret *s, json_t *object)
{
	json_t *data = json_object_get(object, "data");
	if (!json_is_object(data)) {
		data = json_object();
		json_object_set_new(object, "data", data);
	}
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		const char *value = *(char *const *)((const char *)s + fields[i].at);
		if (!value) {
			json_object_del(data, fields[i].key);
			continue;
		}
		AUTO_FREE char *text = base64_encode(value, strlen(value));
		json_object_set_new(data, fields[i].key, json_string(text));
		OPENSSL_cleanse(text, strlen(text));
	}
}

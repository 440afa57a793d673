#include "controller/store/store_config.h"

#include "common/base/jsonx.h"
#include "common/base/mem.h"
#include "common/base/yaml_json.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STORES 32
#define NAME_MAX_BYTES 63
#define HOST_MAX 255
#define BUCKET_MAX 255 /* old buckets are longer than today's 63, and have '_' and capitals */
#define REGION_MAX 64
#define PREFIX_MAX 300

static void config_fini(struct store_config *c)
{
	char *const strings[] = {c->name, c->scheme, c->host, c->public_scheme, c->public_host, c->region, c->bucket, c->prefix,
				 c->credentials_folder, c->ca_file};
	for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
		free(strings[i]);
}

void store_config_free(struct store_config *items, size_t count)
{
	for (size_t i = 0; items && i < count; i++)
		config_fini(&items[i]);
	free(items);
}

/* What spec.output.store can name: a DNS label. */
static bool is_store_name(const char *s)
{
	size_t len = strlen(s);
	return len > 0 && len <= NAME_MAX_BYTES && s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0' && s[0] != '-' && s[len - 1] != '-';
}

/* Letters, digits and the bytes in `also`, at most max_bytes. */
static bool consists_of(const char *s, size_t len, const char *also, size_t max_bytes)
{
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)s[i]) && !strchr(also, s[i]))
			return false;
	}
	return len > 0 && len <= max_bytes;
}

/* The scheme's own port is left out, as HTTP clients leave it out of the Host header, which is signed. */
static size_t without_default_port(const char *host, size_t len, const char *port)
{
	size_t n = strlen(port);
	return len > n && strncmp(host + len - n, port, n) == 0 ? len - n : len;
}

/* "https://host:port" into scheme and host; a path, query or user is refused. */
static int split_endpoint(const char *url, const char *path, const char *key, char **scheme, char **host, struct err *e)
{
	static const struct {
		const char *scheme, *port;
	} known[] = {{"https", ":443"}, {"http", ":80"}};
	for (size_t i = 0; i < 2; i++) {
		size_t n = strlen(known[i].scheme);
		if (strncmp(url, known[i].scheme, n) != 0 || strncmp(url + n, "://", 3) != 0)
			continue;
		const char *rest = url + n + 3;
		size_t len = strcspn(rest, "/?#@");
		if (!consists_of(rest, len, "-._:[]", HOST_MAX) || (rest[len] != '\0' && strcmp(rest + len, "/") != 0))
			break;
		*scheme = mem_strdup(known[i].scheme);
		*host = mem_strndup(rest, without_default_port(rest, len, known[i].port));
		return 0;
	}
	return err_set(e, ERR_INVALID, 0, "%s.%s: expected \"https://host[:port]\", found \"%.80s\"", path, key, url);
}

/* HTTP clients and some servers tidy "/./", "/../" and a doubled slash away, and the signature would not fit any more. */
static bool prefix_usable(const char *prefix)
{
	for (const char *p = prefix;;) {
		size_t n = strcspn(p, "/");
		if ((n == 0 && p[n] == '/') || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		if (p[n] == '\0')
			return strlen(prefix) <= PREFIX_MAX;
		p += n + 1;
	}
}

static int check_s3(const char *path, const char *region, const char *bucket, const char *prefix, struct err *e)
{
	if (!consists_of(bucket, strlen(bucket), "-._", BUCKET_MAX) || strstr(bucket, ".."))
		return err_set(e, ERR_INVALID, 0, "%s.bucket: \"%.80s\" is not a bucket's name; expected at most %d letters, digits, '-', '.' and '_'",
			       path, bucket, BUCKET_MAX);
	if (!consists_of(region, strlen(region), "-_", REGION_MAX))
		return err_set(e, ERR_INVALID, 0, "%s.region: \"%.80s\" is not a region's name; expected one such as eu-central-1", path, region);
	if (prefix && !prefix_usable(prefix))
		return err_set(e, ERR_INVALID, 0, "%s.prefix: must not begin with '/', have an empty part, \".\" or \"..\", or be longer than %d bytes", path,
			       PREFIX_MAX);
	return 0;
}

static char *with_slash(const char *prefix)
{
	size_t n = prefix ? strlen(prefix) : 0;
	if (n == 0)
		return NULL;
	return prefix[n - 1] == '/' ? mem_strdup(prefix) : mem_printf("%s/", prefix);
}

static int parse_s3(const json_t *s3, const char *path, struct store_config *c, struct err *e)
{
	static const char *const known[] = {"endpoint", "region", "bucket", "prefix", "pathStyle", "credentialsFolder", "publicEndpoint", "caFile",
					     NULL};
	const char *endpoint = NULL, *region = "us-east-1", *bucket = NULL, *prefix = NULL, *folder = NULL, *public_endpoint = NULL, *ca_file = NULL;
	if (jsonx_only_keys(s3, path, known, e) < 0 || jsonx_string(s3, path, "endpoint", true, &endpoint, e) < 0 ||
	    jsonx_string(s3, path, "region", false, &region, e) < 0 || jsonx_string(s3, path, "bucket", true, &bucket, e) < 0 ||
	    jsonx_string(s3, path, "prefix", false, &prefix, e) < 0 || jsonx_bool(s3, path, "pathStyle", false, &c->path_style, e) < 0 ||
	    jsonx_string(s3, path, "credentialsFolder", true, &folder, e) < 0 ||
	    jsonx_string(s3, path, "publicEndpoint", false, &public_endpoint, e) < 0 || jsonx_string(s3, path, "caFile", false, &ca_file, e) < 0)
		return -1;
	if (split_endpoint(endpoint, path, "endpoint", &c->scheme, &c->host, e) < 0)
		return -1;
	if (split_endpoint(public_endpoint ? public_endpoint : endpoint, path, "publicEndpoint", &c->public_scheme, &c->public_host, e) < 0)
		return -1;
	if (check_s3(path, region, bucket, prefix, e) < 0)
		return -1;
	c->region = mem_strdup(region);
	c->bucket = mem_strdup(bucket);
	c->prefix = with_slash(prefix);
	c->credentials_folder = mem_strdup(folder);
	c->ca_file = mem_strdup(ca_file);
	return 0;
}

static int parse_store(const json_t *item, const char *path, struct store_config *c, struct err *e)
{
	static const char *const known[] = {"name", "s3", "builtin", NULL};
	const char *name = NULL;
	const json_t *s3 = NULL, *builtin = NULL;
	if (!json_is_object(item))
		return err_set(e, ERR_INVALID, 0, "%s: expected an object", path);
	if (jsonx_only_keys(item, path, known, e) < 0 || jsonx_string(item, path, "name", true, &name, e) < 0 ||
	    jsonx_object(item, path, "s3", false, &s3, e) < 0 || jsonx_object(item, path, "builtin", false, &builtin, e) < 0)
		return -1;
	if (!is_store_name(name))
		return err_set(e, ERR_INVALID, 0, "%s.name: not a valid name: \"%.80s\"; expected at most %d lower-case letters, digits and '-'",
			       path, name, NAME_MAX_BYTES);
	if (!s3 == !builtin)
		return err_set(e, ERR_INVALID, 0, "%s: give either s3 or builtin", path);
	c->name = mem_strdup(name);
	c->builtin = builtin != NULL;
	char at[80];
	snprintf(at, sizeof at, "%s.s3", path);
	return s3 ? parse_s3(s3, at, c, e) : 0;
}

static int refuse_twins(const struct store_config *items, size_t count, struct err *e)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < i; j++) {
			if (strcmp(items[i].name, items[j].name) == 0)
				return err_set(e, ERR_INVALID, 0, "stores[%zu].name: \"%.80s\" stands twice; give each store a name of its own", i,
					       items[i].name);
		}
	}
	return 0;
}

int store_config_parse(const char *text, size_t len, struct store_config **items, size_t *count, struct err *e)
{
	static const char *const known[] = {"stores", NULL};
	const json_t *list = NULL;
	AUTO_JSON json_t *doc = jsonx_parse_yaml(text, len, "stores file", e);
	if (!doc)
		return -1;
	if (!json_is_object(doc))
		return err_set(e, ERR_INVALID, 0, "stores file: expected an object with \"stores\"");
	if (jsonx_only_keys(doc, "", known, e) < 0 || jsonx_array(doc, "", "stores", true, &list, e) < 0)
		return -1;
	size_t n = json_array_size(list);
	if (n == 0 || n > MAX_STORES)
		return err_set(e, ERR_INVALID, 0, "stores: expected 1 to %d stores, found %zu", MAX_STORES, n);
	struct store_config *configs = mem_calloc(n, sizeof *configs);
	for (size_t i = 0; i < n; i++) {
		char path[40];
		snprintf(path, sizeof path, "stores[%zu]", i);
		if (parse_store(json_array_get(list, i), path, &configs[i], e) < 0) {
			store_config_free(configs, n);
			return -1;
		}
	}
	if (refuse_twins(configs, n, e) < 0) {
		store_config_free(configs, n);
		return -1;
	}
	*items = configs;
	*count = n;
	return 0;
}

#include "common/web_ui/page_files.h"

#include "common/base/cleanup.h"
#include "common/base/embed.h"
#include "common/base/mem.h"
#include "common/report/report_policy.h"

#include <openssl/sha.h>
#include <string.h>
#include <zlib.h>

#define FILE_MAX_BYTES (4u << 20)

#define PAGE_FILE(symbol, name) EMBED_FILE(".rodata.page_files", page_##symbol, PAGE_FOLDER name ".gz");
#include "page/files.h"
#undef PAGE_FILE

struct page_file {
	const char *name, *data, *end;
};

#define PAGE_FILE(symbol, name) {name, page_##symbol, page_##symbol##_end},
static const struct page_file files[] = {
#include "page/files.h"
};
#undef PAGE_FILE

#define PAGE_POLICY                                                                                                              \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; "  \
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static const char *media_type(const char *name)
{
	static const struct {
		const char *ending, *type;
	} types[] = {
		{".html", "text/html; charset=utf-8"}, {".js", "text/javascript; charset=utf-8"}, {".css", "text/css; charset=utf-8"},
		{".svg", "image/svg+xml"}, {".png", "image/png"}, {".ico", "image/x-icon"}, {".json", "application/json"},
		{".webmanifest", "application/manifest+json"}, {".woff2", "font/woff2"}, {".txt", "text/plain; charset=utf-8"},
	};
	const char *dot = strrchr(name, '.');
	for (size_t i = 0; dot && i < sizeof types / sizeof *types; i++)
		if (strcmp(dot, types[i].ending) == 0)
			return types[i].type;
	return "application/octet-stream";
}

static bool takes_gzip(const struct web_request *q)
{
	const char *accepted = web_request_header(q, WEB_HEADER_ACCEPT_ENCODING);
	const char *gzip = accepted ? strstr(accepted, "gzip") : NULL;
	return gzip && strncmp(gzip, "gzip;q=0", 8) != 0;
}

/* For the few that take no gzip. */
static void respond_unpacked(const struct page_file *f, struct web_response *r)
{
	z_stream z = {.next_in = (unsigned char *)f->data, .avail_in = (unsigned)(f->end - f->data)};
	AUTO_FREE char *text = mem_alloc(FILE_MAX_BYTES);
	z.next_out = (unsigned char *)text;
	z.avail_out = FILE_MAX_BYTES;
	if (inflateInit2(&z, 15 + 16) != Z_OK)
		return;
	if (inflate(&z, Z_FINISH) == Z_STREAM_END)
		web_respond(r, 200, media_type(f->name), text, z.total_out);
	inflateEnd(&z);
}

static void get_file(void *ctx, const struct web_request *q, struct web_response *r)
{
	const struct page_file *f = ctx;
	unsigned char hash[SHA256_DIGEST_LENGTH];
	char tag[17];
	SHA256((const unsigned char *)f->data, (size_t)(f->end - f->data), hash);
	for (int i = 0; i < 8; i++)
		snprintf(tag + 2 * i, 3, "%02x", hash[i]);
	web_respond_header(r, "cache-control", "no-cache"); /* kept, but asked for again each time: an update shows at once */
	web_respond_header(r, "vary", "accept-encoding");
	web_respond_header(r, "content-security-policy", strcmp(f->name, "viewer.html") == 0 ? REPORT_POLICY_WITHIN("'self'") : PAGE_POLICY);
	if (web_respond_not_modified(r, q, tag))
		return;
	if (!takes_gzip(q)) {
		respond_unpacked(f, r);
		return;
	}
	web_respond_header(r, "content-encoding", "gzip");
	web_respond_static(r, 200, media_type(f->name), f->data, (size_t)(f->end - f->data));
}

void page_files_add_routes(struct web_server *s)
{
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		const char *name = files[i].name;
		AUTO_FREE char *path = strcmp(name, "index.html") == 0	  ? mem_strdup("/")
				       : strcmp(name, "viewer.html") == 0 ? mem_strdup("/viewer.html")
									  : mem_printf("/assets/%s", name);
		web_server_route(s, &(struct web_route){.methods = WEB_GET, .pattern = path, .handler = get_file, .ctx = (void *)&files[i]});
	}
}

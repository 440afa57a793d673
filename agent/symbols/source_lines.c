#include "agent/symbols/source_lines.h"

#include "agent/symbols/method_name.h"
#include "agent/symbols/pdb_file.h"
#include "agent/symbols/source_link.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX_DOCUMENTS 4096 /* so many are looked at for what they have in common */
#define COMPARED_BYTES 64 /* of paths, in a step of work */

struct source_document {
	bool known;
	char *file, *link; /* file NULL: it has no name that can be shown */
};

struct source_module {
	char *name; /* as the runtime tells it: the path; of an assembly in a single-file application its name alone */
	char *path; /* as if it lay beside the executable then */
	uint64_t image;
	bool usable;
	char *reason; /* of symbols that are there and are refused */
	struct portable_pdb pdb;
	uint8_t *bytes;
	struct source_link link;
	char *common; /* the folders that all of its files are in; NULL until it is needed */
	struct source_document *documents; /* by row - 1 */
};

struct source_lines {
	int mem_fd, root_fd;
	char *folder; /* of the executable, as the process sees it; NULL: not known */
	struct source_module *modules[SOURCE_MAX_MODULES];
	size_t count, bytes;
	struct work_budget budget;
};

static char *executable_folder(int proc_fd)
{
	char path[PATH_MAX];
	ssize_t n = proc_fd < 0 ? -1 : readlinkat(proc_fd, "exe", path, sizeof path - 1);

	if (n <= 0 || path[0] != '/')
		return NULL;
	path[n] = '\0';
	return mem_strndup(path, (size_t)(strrchr(path, '/') - path));
}

struct source_lines *source_lines_new(int proc_fd)
{
	struct source_lines *s = mem_alloc(sizeof *s);

	s->mem_fd = proc_fd < 0 ? -1 : openat(proc_fd, "mem", O_RDONLY | O_CLOEXEC);
	s->root_fd = proc_fd < 0 ? -1 : openat(proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	s->folder = executable_folder(proc_fd);
	work_budget_init(&s->budget, WORK_LINES);
	return s;
}

static void free_source_module(struct source_module *m)
{
	for (uint32_t i = 0; m->documents && i < portable_pdb_document_count(&m->pdb); i++) {
		free(m->documents[i].file);
		free(m->documents[i].link);
	}
	free(m->documents);
	source_link_fini(&m->link);
	free(m->common);
	free(m->bytes);
	free(m->reason);
	free(m->path);
	free(m->name);
	free(m);
}

void source_lines_free(struct source_lines *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		free_source_module(s->modules[i]);
	cleanup_fd(&s->mem_fd);
	cleanup_fd(&s->root_fd);
	free(s->folder);
	free(s);
}

/* modules ------------------------------------------------------------------------------------------------------------ */

static void load_source_module(struct source_lines *s, struct source_module *m)
{
	const struct pdb_place place = {s->mem_fd, s->root_fd, m->path, m->image, SOURCE_ALL_MAX_BYTES - s->bytes, &s->budget};
	struct err e = ERR_INIT;
	struct pdb_span json;
	size_t bytes = 0;

	m->bytes = pdb_file_load(&place, &m->pdb, &bytes, &e);
	if (!m->bytes) {
		if (e.kind != ERR_NOT_FOUND)
			m->reason = mem_strdup(e.message);
		return;
	}
	m->usable = true;
	s->bytes += bytes;
	m->documents = mem_calloc((size_t)portable_pdb_document_count(&m->pdb) + 1, sizeof *m->documents);
	if (portable_pdb_source_link(&m->pdb, &json))
		source_link_parse(&m->link, json.data, json.bytes);
}

struct source_module *source_lines_module(struct source_lines *s, const char *path, uint64_t image)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->modules[i]->image == image && strcmp(s->modules[i]->name, path) == 0)
			return s->modules[i]->usable ? s->modules[i] : NULL;
	bool alone = strchr(path, '/') == NULL;
	if (s->count == SOURCE_MAX_MODULES || image == 0 || s->mem_fd < 0 || (alone ? !s->folder : path[0] != '/'))
		return NULL;
	struct source_module *m = mem_alloc(sizeof *m);
	m->name = mem_strdup(path);
	m->path = alone ? mem_printf("%s/%s", s->folder, path) : mem_strdup(path);
	m->image = image;
	s->modules[s->count++] = m;
	work_budget_begin(&s->budget);
	load_source_module(s, m);
	work_budget_end(&s->budget);
	return m->usable ? m : NULL;
}

/* documents ---------------------------------------------------------------------------------------------------------- */

/* What the compiler's own steps have written lies below "obj", often beside the sources' folder. */
static bool is_generated_path(const char *path)
{
	return strstr(path, "/obj/") || strstr(path, "\\obj\\");
}

/* The folders that all sources are in. */
static void find_common_folder(struct source_module *m)
{
	AUTO_BUF struct buf first, next;
	size_t bytes = 0;
	bool any = false;

	buf_init(&first, PDB_PATH_BYTES + 1);
	buf_init(&next, PDB_PATH_BYTES + 1);
	for (uint32_t i = 1; i <= portable_pdb_document_count(&m->pdb) && i <= PREFIX_DOCUMENTS; i++) {
		struct buf *to = any ? &next : &first;
		buf_reset(to);
		if (portable_pdb_document(&m->pdb, i, to) < 0 || is_generated_path(buf_str(to)))
			continue;
		bytes = source_link_common(buf_str(&first), any ? bytes : first.len, buf_str(to));
		any = true;
	}
	m->common = mem_strndup(buf_str(&first), bytes);
}

/* Without SourceLink: below what the module's files have in common, else the file's name alone. */
static void put_relative_path(struct source_module *m, const char *path, struct buf *out)
{
	if (!m->common)
		find_common_folder(m);
	size_t n = strlen(m->common);
	if (n && strncmp(path, m->common, n) == 0)
		path += n;
	else
		for (const char *c = path; *c; c++)
			if (*c == '/' || *c == '\\')
				path = c + 1;
	for (; *path; path++)
		buf_putc(out, *path == '\\' ? '/' : *path);
}

static void name_source_document(struct source_module *m, uint32_t row, struct source_document *d)
{
	AUTO_BUF struct buf path, relative, url, shown;

	buf_init(&path, PDB_PATH_BYTES + 1);
	buf_init(&relative, PDB_PATH_BYTES + 1);
	buf_init(&url, 2 * SOURCE_URL_BYTES);
	buf_init(&shown, 16 * PDB_PATH_BYTES);
	if (portable_pdb_document(&m->pdb, row, &path) < 0 || memchr(buf_str(&path), '\0', path.len) ||
	    !work_budget_spend(m->pdb.budget, 1 + m->link.count * path.len / COMPARED_BYTES))
		return;
	if (!source_link_find(&m->link, buf_str(&path), &relative, &url))
		put_relative_path(m, buf_str(&path), &relative);
	method_name_printable(buf_str(&relative), PDB_PATH_BYTES, &shown);
	d->file = shown.len ? buf_steal(&shown) : NULL;
	d->link = url.len && !url.full ? buf_steal(&url) : NULL;
}

static const struct source_document *find_source_document(struct source_module *m, uint32_t row)
{
	struct source_document *d = &m->documents[row - 1];

	if (!d->known)
		name_source_document(m, row, d);
	d->known = true;
	return d;
}

bool source_lines_find(struct source_module *m, uint32_t token, uint32_t il_offset, struct source_place *out)
{
	struct pdb_line line;

	work_budget_begin(m->pdb.budget);
	const struct source_document *d = portable_pdb_line(&m->pdb, token, il_offset, &line) ? find_source_document(m, line.document) : NULL;
	work_budget_end(m->pdb.budget);
	if (!d)
		return false;
	*out = (struct source_place){d->file, d->link, line.line};
	return d->file != NULL;
}

/* the account -------------------------------------------------------------------------------------------------------- */

static void account_for_module(const struct source_module *m, struct source_account *out)
{
	AUTO_BUF struct buf shown;

	buf_init(&shown, 16 * PE_PDB_NAME_SIZE);
	method_name_printable(strrchr(m->path, '/') + 1, PE_PDB_NAME_SIZE, &shown);
	out->items = mem_realloc(out->items, out->count + 1, sizeof *out->items);
	out->items[out->count++] = (struct source_symbols){buf_steal(&shown), mem_strdup(m->reason)};
}

void source_lines_account(const struct source_lines *s, struct source_account *out)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->modules[i]->usable || s->modules[i]->reason)
			account_for_module(s->modules[i], out);
}

void source_account_fini(struct source_account *a)
{
	for (size_t i = 0; i < a->count; i++) {
		free(a->items[i].module);
		free(a->items[i].reason);
	}
	free(a->items);
	*a = (struct source_account){0};
}

#include "agent/symbols/native_symbols.h"

#include "agent/symbols/elf_debug.h"
#include "agent/symbols/elf_symbols.h"
#include "agent/target/target_fs.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct native_file {
	uint32_t file; /* index in the maps' files */
	bool usable, beside;
	struct elf_symbols elf;
	struct elf_symbols names; /* of the file beside it; where there is none, its own */
	struct elf_debug debug;
};

#define BESIDE_BYTES 4352 /* of a path */

struct native_symbols {
	int root_fd;
	struct native_file *files;
	size_t count, cap;
	struct work_budget budget;
};

struct native_symbols *native_symbols_new(int root_fd)
{
	struct native_symbols *n = mem_alloc(sizeof *n);
	n->root_fd = root_fd;
	work_budget_init(&n->budget, WORK_SYMBOLS);
	return n;
}

void native_symbols_free(struct native_symbols *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->count; i++) {
		elf_symbols_fini(&n->files[i].elf);
		elf_symbols_fini(&n->files[i].names);
	}
	free(n->files);
	if (n->root_fd >= 0)
		close(n->root_fd);
	free(n);
}

/* In the file's folder, or in .debug there. Only of the same build. */
static bool load_beside(struct native_symbols *n, struct native_file *f, const char *path, const char *folder)
{
	char beside[BESIDE_BYTES];
	struct elf_debug other;
	const char *name = strrchr(path, '/');
	int used = snprintf(beside, sizeof beside, "%.*s%s%s", (int)(name + 1 - path), path, folder, f->debug.link);
	if (used < 0 || (size_t)used >= sizeof beside)
		return false;
	AUTO_FD int fd = target_fs_open_regular(n->root_fd, beside);
	elf_debug_read(fd, &n->budget, &other);
	return other.symbols && elf_debug_same_build(&f->debug, &other) && elf_symbols_load_take(&f->names, steal_fd(&fd), &n->budget, NULL) == 0;
}

static struct native_file *open_native_file(struct native_symbols *n, const struct maps *m, uint32_t file)
{
	for (size_t i = 0; i < n->count; i++)
		if (n->files[i].file == file)
			return &n->files[i];
	if (n->count >= NATIVE_MAX_FILES)
		return NULL;
	GROW(n->files, n->count, n->cap);
	struct native_file *f = &n->files[n->count++];
	*f = (struct native_file){.file = file, .elf = {.fd = -1}, .names = {.fd = -1}};
	if (n->root_fd >= 0 && m->files[file].path[0] == '/') {
		int fd = target_fs_open_regular(n->root_fd, m->files[file].path);
		f->usable = elf_symbols_load_take(&f->elf, fd, &n->budget, NULL) == 0;
		if (f->usable)
			elf_debug_read(f->elf.fd, &n->budget, &f->debug);
		if (f->debug.link[0] && !f->debug.symbols)
			f->beside = load_beside(n, f, m->files[file].path, "") || load_beside(n, f, m->files[file].path, ".debug/");
	}
	return f;
}

static bool find_native(struct native_symbols *n, const struct maps *m, const struct map_entry *entry, uint64_t ip, char name[NATIVE_NAME_SIZE],
			uint64_t *offset)
{
	uint64_t in_file = ip - entry->start + entry->offset, address;
	char symbol[ELF_NAME_SIZE];
	struct native_file *f = open_native_file(n, m, entry->file);
	*offset = in_file;
	if (!f || !f->usable || !elf_symbols_address(&f->elf, in_file, &address))
		return false;
	if (elf_symbols_name(f->beside ? &f->names : &f->elf, address, symbol)) {
		native_demangle(symbol, name);
		return true;
	}
	uint64_t start = elf_symbols_function_start(&f->elf, address);
	if (start <= address && address - start <= in_file)
		*offset = in_file - (address - start);
	return false;
}

bool native_symbols_find(struct native_symbols *n, const struct maps *m, const struct map_entry *entry, uint64_t ip,
			 char name[NATIVE_NAME_SIZE], uint64_t *offset)
{
	work_budget_begin(&n->budget);
	bool found = find_native(n, m, entry, ip, name, offset);
	work_budget_end(&n->budget);
	return found;
}

enum native_code native_symbols_code(struct native_symbols *n, const struct maps *m, const struct map_entry *entry, uint64_t ip)
{
	enum native_code code = NATIVE_CODE_ANY;
	uint64_t address;
	work_budget_begin(&n->budget);
	const struct native_file *f = open_native_file(n, m, entry->file);
	if (f && f->usable && f->debug.managed_end && elf_symbols_address(&f->elf, ip - entry->start + entry->offset, &address))
		code = address >= f->debug.managed && address < f->debug.managed_end ? NATIVE_CODE_METHOD : NATIVE_CODE_RUNTIME;
	work_budget_end(&n->budget);
	return code;
}

/* demangling ---------------------------------------------------------------------------------------------------- */

typedef char *demangle_fn(const char *symbol, char *buffer, size_t *length, int *status);
static demangle_fn *demangler;
static pthread_once_t demangler_once = PTHREAD_ONCE_INIT;

/* Loaded when the first C++ name is met: most processes have none, and then its memory is saved. */
static void find_demangler(void)
{
	void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
	if (library)
		*(void **)&demangler = dlsym(library, "__cxa_demangle");
}

/* Back references (S0_, T_) let a short symbol stand for an exponentially long name: each may double it. */
static bool is_harmless(const char *symbol)
{
	size_t len = strlen(symbol), references = 0;
	if (len > 384)
		return false;
	for (size_t i = 0; i + 1 < len; i++) {
		unsigned char next = (unsigned char)symbol[i + 1];
		if ((symbol[i] == 'S' || symbol[i] == 'T') && (next == '_' || isdigit(next) || isupper(next)))
			references++;
	}
	return references <= 12;
}

void native_demangle(const char *symbol, char out[NATIVE_NAME_SIZE])
{
	int status = -1;
	AUTO_FREE char *plain = NULL;
	if (strncmp(symbol, "_Z", 2) == 0 && is_harmless(symbol)) {
		pthread_once(&demangler_once, find_demangler);
		if (demangler)
			plain = demangler(symbol, NULL, NULL, &status);
	}
	snprintf(out, NATIVE_NAME_SIZE, "%s", plain && status == 0 ? plain : symbol);
}

#include "agent/target/gc_settings.h"

#include "agent/host/proc.h"
#include "agent/target/target_fs.h"
#include "common/base/cleanup.h"
#include "common/base/jsonx.h"
#include "common/base/mem.h"
#include "common/base/size_text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX (256 * 1024)
#define PATH_BYTES 4096
#define LARGE_BYTES 85000

/* The names are the runtime's: gcconfig.h. */
static const struct {
	const char *variable, *property;
} names[GC_SETTING_COUNT] = {
	[GC_SETTING_SERVER] = {"gcServer", "System.GC.Server"},
	[GC_SETTING_CONCURRENT] = {"gcConcurrent", "System.GC.Concurrent"},
	[GC_SETTING_GEN0_SIZE] = {"GCgen0size", "System.GC.Gen0Size"},
	[GC_SETTING_HEAP_COUNT] = {"GCHeapCount", "System.GC.HeapCount"},
	[GC_SETTING_HARD_LIMIT] = {"GCHeapHardLimit", "System.GC.HeapHardLimit"},
	[GC_SETTING_HARD_LIMIT_PERCENT] = {"GCHeapHardLimitPercent", "System.GC.HeapHardLimitPercent"},
	[GC_SETTING_CONSERVE] = {"GCConserveMemory", "System.GC.ConserveMemory"},
	[GC_SETTING_ADAPTATION] = {"GCDynamicAdaptationMode", "System.GC.DynamicAdaptationMode"},
	[GC_SETTING_LARGE] = {"GCLOHThreshold", "System.GC.LOHThreshold"},
};

void gc_settings_init(struct gc_settings *s)
{
	*s = (struct gc_settings){.server_heaps = -1};
	for (size_t i = 0; i < GC_SETTING_COUNT; i++)
		s->of[i].value = -1;
}

static void set_gc_value(struct gc_settings *s, size_t which, int64_t value, enum gc_origin origin)
{
	if (value < 0 || s->of[which].origin > origin)
		return;
	s->of[which].value = value;
	s->of[which].origin = origin;
}

/* -1: not set, or no number. */
static int64_t variable_value(const char *block, size_t len, const char *prefix, const char *name)
{
	AUTO_FREE char *whole = mem_printf("%s%s", prefix, name);
	const char *value = proc_env_find(block, len, whole);
	char *end;
	if (!value || !*value)
		return -1;
	unsigned long long v = strtoull(value, &end, 16);
	return *end || v > INT64_MAX ? -1 : (int64_t)v;
}

void gc_settings_environment(struct gc_settings *s, const char *block, size_t len)
{
	s->environment = true;
	for (size_t i = 0; i < GC_SETTING_COUNT; i++) {
		int64_t value = variable_value(block, len, "DOTNET_", names[i].variable);
		if (value < 0)
			value = variable_value(block, len, "COMPlus_", names[i].variable);
		set_gc_value(s, i, value, GC_FROM_ENVIRONMENT);
	}
}

static int64_t property_value(const json_t *property)
{
	if (json_is_boolean(property))
		return json_is_true(property);
	if (json_is_integer(property))
		return json_integer_value(property);
	if (!json_is_string(property))
		return -1;
	const char *text = json_string_value(property);
	char *end;
	long long v = strtoll(text, &end, 0);
	return strcmp(text, "true") == 0 ? 1 : strcmp(text, "false") == 0 ? 0 : *text && !*end ? v : -1;
}

void gc_settings_file(struct gc_settings *s, const char *text, size_t len)
{
	AUTO_JSON json_t *doc = jsonx_parse(text, len, "runtimeconfig.json", NULL);
	if (!doc)
		return;
	s->file = true;
	const json_t *properties = jsonx_at(doc, "runtimeOptions.configProperties");
	for (size_t i = 0; i < GC_SETTING_COUNT; i++)
		set_gc_value(s, i, property_value(json_object_get(properties, names[i].property)), GC_FROM_FILE);
}

/* reading ------------------------------------------------------------------------------------------------------------------ */

static bool read_runtimeconfig(struct gc_settings *s, int root_fd, const char *folder, size_t folder_len, const char *entrypoint)
{
	AUTO_FREE char *path = mem_printf("%.*s/%s.runtimeconfig.json", (int)folder_len, folder, entrypoint);
	AUTO_FD int fd = target_fs_open_regular(root_fd, path);
	AUTO_BUF struct buf text;
	char chunk[8192];
	ssize_t n;
	buf_init(&text, FILE_MAX);
	if (fd < 0)
		return false;
	while ((n = read(fd, chunk, sizeof chunk)) > 0)
		if (buf_append(&text, chunk, (size_t)n) < 0)
			return false;
	gc_settings_file(s, buf_str(&text), text.len);
	return s->file;
}

/* Beside the program, which is the runtime's own host or `dotnet`. */
static bool read_beside_program(struct gc_settings *s, int proc_fd, int root_fd, const char *entrypoint)
{
	char path[PATH_BYTES];
	ssize_t n = readlinkat(proc_fd, "exe", path, sizeof path - 1);
	if (n <= 0)
		return false;
	path[n] = '\0';
	const char *slash = strrchr(path, '/');
	return slash && read_runtimeconfig(s, root_fd, path, (size_t)(slash - path), entrypoint);
}

/* Beside the entry assembly, which the process has mapped. */
static void read_beside_assembly(struct gc_settings *s, int proc_fd, int root_fd, const char *entrypoint)
{
	AUTO_FREE char *base = mem_printf("%s.dll", entrypoint);
	struct proc_lines lines;
	struct proc_map map;
	const char *line;
	size_t len;
	bool found = false;
	if (proc_lines_open(&lines, proc_fd, "maps") < 0)
		return;
	while (!found && proc_lines_next(&lines, &line, &len)) {
		found = proc_parse_map_line(line, len, &map) == 0 && proc_map_is(&map, base);
		if (found)
			read_runtimeconfig(s, root_fd, map.path, map.path_len - strlen(base) - 1, entrypoint);
	}
	proc_lines_close(&lines);
}

void gc_settings_read(struct gc_settings *s, int proc_fd, const char *entrypoint)
{
	if (proc_fd < 0)
		return;
	s->server_heaps = proc_count_threads(proc_fd, ".NET Server GC");
	s->background = proc_count_threads(proc_fd, ".NET BGC") > 0;
	AUTO_FD int root_fd = openat(proc_fd, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0 || !entrypoint || !*entrypoint || strchr(entrypoint, '/'))
		return;
	if (!read_beside_program(s, proc_fd, root_fd, entrypoint))
		read_beside_assembly(s, proc_fd, root_fd, entrypoint);
}

/* answers ------------------------------------------------------------------------------------------------------------------ */

int gc_settings_server(const struct gc_settings *s)
{
	if (s->server_heaps >= 0)
		return s->server_heaps > 0;
	if (s->of[GC_SETTING_SERVER].origin != GC_NOT_SET)
		return s->of[GC_SETTING_SERVER].value > 0;
	return gc_settings_complete(s) ? 0 : -1;
}

int gc_settings_concurrent(const struct gc_settings *s)
{
	if (s->background)
		return 1;
	if (s->of[GC_SETTING_CONCURRENT].origin != GC_NOT_SET)
		return s->of[GC_SETTING_CONCURRENT].value > 0;
	return gc_settings_complete(s) ? 1 : -1;
}

void gc_settings_place(const struct gc_settings *s, enum gc_setting which, struct buf *out)
{
	if (s->of[which].origin == GC_FROM_ENVIRONMENT)
		buf_printf(out, "DOTNET_%s in its environment", names[which].variable);
	else
		buf_printf(out, "%s in its runtimeconfig.json", names[which].property);
}

void gc_settings_put_large(const struct gc_settings *s, struct buf *out)
{
	bool set = s->of[GC_SETTING_LARGE].value > LARGE_BYTES; /* the runtime takes no less */
	size_text_count(out, set ? (uint64_t)s->of[GC_SETTING_LARGE].value : LARGE_BYTES);
	buf_puts(out, " bytes");
	if (set) {
		buf_puts(out, " (");
		gc_settings_place(s, GC_SETTING_LARGE, out);
		buf_puts(out, ")");
	}
}

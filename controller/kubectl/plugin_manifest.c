#include "controller/kubectl/plugin_manifest.h"

#include "common/base/mem.h"
#include "common/base/text.h"

#include <ctype.h>
#include <string.h>

#define NAME_BASE_CHARS 40

static void set_text_if_given(json_t *obj, const char *key, const char *value)
{
	if (value)
		json_object_set_new(obj, key, json_string(value));
}

static void put_number(json_t *obj, const char *key, int64_t value)
{
	if (value)
		json_object_set_new(obj, key, json_integer(value));
}

static void put_object_take(json_t *obj, const char *key, json_t *value)
{
	if (json_object_size(value))
		json_object_set_new(obj, key, value);
	else
		json_decref(value);
}

static json_t *target_json(const struct plugin_args *a, const struct plugin_target *target, const json_t *selector)
{
	json_t *out = json_object(), *process = json_object();
	if (target->kind == PLUGIN_TARGET_POD)
		set_text_if_given(out, "podName", target->name);
	else
		json_object_set(out, "selector", (json_t *)selector);
	set_text_if_given(out, "container", a->container);
	set_text_if_given(process, "entrypoint", a->entrypoint);
	put_number(process, "pid", a->pid);
	put_object_take(out, "process", process);
	put_number(out, "maxPods", a->max_pods);
	return out;
}

static json_t *spec_json(const struct plugin_args *a, const struct plugin_target *target, const json_t *selector)
{
	json_t *spec = json_object(), *settings = json_object(), *output = json_object();
	set_text_if_given(spec, "profiler", profiler_kind_name(a->session.profiler));
	json_object_set_new(spec, "target", target_json(a, target, selector));
	put_number(spec, "durationSeconds", a->session.duration_seconds);
	put_number(settings, "frequencyHertz", a->session.frequency_hertz);
	set_text_if_given(settings, "roots", a->session.roots ? heap_roots_name((enum heap_roots)(a->session.roots - 1)) : NULL);
	put_number(settings, "walks", a->session.walks);
	put_object_take(spec, profiler_settings_key(a->session.profiler), settings);
	put_number(spec, "pauseBudgetMilliseconds", a->session.pause_budget_ms);
	set_text_if_given(spec, "baselineSession", a->baseline);
	set_text_if_given(spec, "start", a->next_start ? session_start_name(START_NEXT_CONTAINER) : NULL);
	if (a->session.reveal)
		json_object_set_new(spec, "reveal", json_true());
	set_text_if_given(output, "store", a->store);
	put_object_take(spec, "output", output);
	if (a->session.duration_seconds > 590) /* the default deadline holds the default duration and some waiting */
		put_number(spec, "activeDeadlineSeconds", a->session.duration_seconds + 300);
	return spec;
}

static char *manifest_name(const struct plugin_args *a, const struct plugin_target *target, const char *suffix)
{
	if (a->name)
		return mem_strdup(a->name);
	size_t len = strlen(target->name);
	len = len < NAME_BASE_CHARS ? len : NAME_BASE_CHARS;
	while (len && (target->name[len - 1] == '-' || target->name[len - 1] == '.'))
		len--;
	return mem_printf("%.*s%s%s-%s", (int)len, target->name, len ? "-" : "", profiler_kind_words(a->session.profiler)->option + strlen("--"), suffix);
}

json_t *plugin_manifest_make(const struct plugin_args *a, const struct plugin_target *target, const json_t *selector, const char *namespace,
			     const char *suffix, struct err *e)
{
	char *name = manifest_name(a, target, suffix);
	json_t *spec = spec_json(a, target, selector);
	json_t *out = json_pack("{s:s, s:s, s:{s:s, s:s}, s:o}", "apiVersion", API_GROUP_VERSION, "kind", SESSION_KIND, "metadata", "name", name,
				"namespace", namespace, "spec", spec);
	struct session_spec read;
	bool good = out && plugin_target_is_name(name);
	if (!good)
		err_set(e, ERR_INVALID, 0, "--name: \"%.80s\" is no name of an object: lower-case letters, digits and '-'", name);
	else
		good = session_spec_from_json(spec, true, &read, e) == 0;
	free(name);
	if (!good) {
		json_decref(out);
		return NULL;
	}
	session_spec_fini(&read);
	return out;
}

/* YAML ------------------------------------------------------------------------------------------------------------- */

/* Words that cannot be taken for anything but text; all else is quoted as JSON, which is YAML. */
static bool is_plain_yaml(const char *s)
{
	static const char *const other[] = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "~"};
	if (!isalpha((unsigned char)*s))
		return false;
	for (const char *c = s; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("-_./", *c))
			return false;
	for (size_t i = 0; i < sizeof other / sizeof *other; i++)
		if (strcasecmp(s, other[i]) == 0)
			return false;
	return true;
}

static void put_scalar(const json_t *v, struct buf *out)
{
	const char *s = json_string_value(v);
	if (s && is_plain_yaml(s))
		buf_puts(out, s);
	else if (s)
		text_append_json(out, s, strlen(s));
	else if (json_is_integer(v))
		buf_printf(out, "%lld", (long long)json_integer_value(v));
	else if (json_is_real(v))
		buf_printf(out, "%.17g", json_real_value(v));
	else if (json_is_array(v))
		buf_puts(out, "[]");
	else if (json_is_object(v))
		buf_puts(out, "{}");
	else
		buf_puts(out, json_is_true(v) ? "true" : json_is_false(v) ? "false" : "null");
}

static void put_indent(int depth, struct buf *out)
{
	buf_printf(out, "%*s", 2 * depth, "");
}

static void put_yaml_value(const json_t *v, int depth, bool inline_first, struct buf *out);

/* After "key:" or "-": a scalar on the same line, else below. */
static void put_child(const json_t *v, int depth, bool in_list, struct buf *out)
{
	bool below = (json_is_object(v) && json_object_size(v)) || (json_is_array(v) && json_array_size(v));
	if (!below) {
		buf_putc(out, ' ');
		put_scalar(v, out);
		buf_putc(out, '\n');
	} else if (in_list) {
		buf_putc(out, ' ');
		put_yaml_value(v, depth + 1, true, out);
	} else {
		buf_putc(out, '\n');
		put_yaml_value(v, json_is_array(v) ? depth : depth + 1, false, out);
	}
}

static void put_yaml_value(const json_t *v, int depth, bool inline_first, struct buf *out)
{
	const char *key;
	json_t *child;
	size_t i;
	json_object_foreach((json_t *)v, key, child) {
		if (!inline_first)
			put_indent(depth, out);
		inline_first = false;
		if (is_plain_yaml(key))
			buf_puts(out, key);
		else
			text_append_json(out, key, strlen(key));
		buf_putc(out, ':');
		put_child(child, depth, false, out);
	}
	json_array_foreach(v, i, child) {
		if (!inline_first)
			put_indent(depth, out);
		inline_first = false;
		buf_putc(out, '-');
		put_child(child, depth, true, out);
	}
}

void plugin_manifest_yaml(const json_t *value, struct buf *out)
{
	put_yaml_value(value, 0, false, out);
}

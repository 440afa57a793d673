#include "controller/sessions/start_pods.h"

#include "common/base/mem.h"
#include "controller/kube/kube_watch.h"
#include "controller/kube/pods.h"

#include <stdlib.h>

struct start_pods {
	struct start_pods_callbacks callbacks;
	char *key, *field_selector, *label_selector;
	struct kube_watch *watch;
};

static void on_list_begin(void *ctx, const char *namespace)
{
	struct start_pods *p = ctx;
	(void)namespace;
	p->callbacks.list_begin(p->callbacks.ctx, p->key);
}

static void on_list_end(void *ctx, const char *namespace)
{
	struct start_pods *p = ctx;
	(void)namespace;
	p->callbacks.list_end(p->callbacks.ctx, p->key);
}

static void on_pod(void *ctx, bool deleted, const json_t *object)
{
	struct start_pods *p = ctx;
	struct pod_info pod;
	pod_info_from_json(object, &pod);
	if (pod.uid[0] && pod.node[0])
		p->callbacks.pod(p->callbacks.ctx, p->key, pod.uid, pod.node, deleted || pod.over);
	pod_info_fini(&pod);
}

struct start_pods *start_pods_new(const struct kube_config *config, const char *key, const char *namespace, const struct session_target *t,
				  const struct start_pods_callbacks *callbacks, struct err *e)
{
	struct start_pods *p = mem_alloc(sizeof *p);
	p->callbacks = *callbacks;
	p->key = mem_strdup(key);
	p->field_selector = t->pod_name ? mem_printf("metadata.name=%s", t->pod_name) : NULL;
	p->label_selector = t->pod_name ? NULL : pods_selector_text(t->selector, t->selector_count);
	struct kube_watch_options o = {
		.config = config,
		.api = KUBE_CORE,
		.plural = "pods",
		.namespace = namespace,
		.field_selector = p->field_selector,
		.label_selector = p->label_selector,
		.callbacks = {p, on_list_begin, on_list_end, on_pod},
	};
	p->watch = kube_watch_start(&o, e);
	if (p->watch)
		return p;
	start_pods_free(p);
	return NULL;
}

void start_pods_free(struct start_pods *p)
{
	if (!p)
		return;
	kube_watch_stop(p->watch);
	free(p->key);
	free(p->field_selector);
	free(p->label_selector);
	free(p);
}

#include "agent/host/cgroup.h"

#include <string.h>

#define ID_HEX 64

static size_t hex_run(const char *s, size_t len)
{
	size_t n = 0;
	while (n < len && ((s[n] >= '0' && s[n] <= '9') || (s[n] >= 'a' && s[n] <= 'f')))
		n++;
	return n;
}

/* The container id in one path component: "<id>", "cri-containerd-<id>.scope", "crio-<id>.scope", "docker-<id>.scope". */
static bool container_of(const char *s, size_t len, char out[80])
{
	static const char conmon[] = "crio-conmon-"; /* the container's supervisor, not the container */
	if (len > sizeof conmon && memcmp(s, conmon, sizeof conmon - 1) == 0)
		return false;
	size_t end = len > 6 && memcmp(s + len - 6, ".scope", 6) == 0 ? len - 6 : len;
	if (end < ID_HEX || hex_run(s + end - ID_HEX, ID_HEX) != ID_HEX)
		return false;
	if (end > ID_HEX && s[end - ID_HEX - 1] != '-')
		return false;
	memcpy(out, s + end - ID_HEX, ID_HEX);
	out[ID_HEX] = '\0';
	return true;
}

/* 8-4-4-4-12 hex digits with `dash` between, or 32 hex digits (a static pod: the hash of its manifest). */
static bool pod_uid_of(const char *s, size_t len, char dash, char out[40])
{
	if (len == 32 && hex_run(s, 32) == 32) {
		memcpy(out, s, 32);
		out[32] = '\0';
		return true;
	}
	if (len != 36)
		return false;
	for (size_t i = 0; i < len; i++) {
		bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
		if (is_dash ? s[i] != dash : hex_run(s + i, 1) != 1)
			return false;
	}
	for (size_t i = 0; i < len; i++)
		out[i] = s[i] == dash ? '-' : s[i];
	out[36] = '\0';
	return true;
}

/* The pod's uid in one component: "pod<uid>" (cgroupfs), "[kubelet-]kubepods[-qos]-pod<uid with _>.slice" (systemd). */
static bool pod_of(const char *s, size_t len, char out[40])
{
	static const char slice[] = ".slice";
	if (len > 3 && memcmp(s, "pod", 3) == 0 && pod_uid_of(s + 3, len - 3, '-', out))
		return true;
	if (len <= 6 || memcmp(s + len - 6, slice, 6) != 0)
		return false;
	for (size_t i = 0; i + 5 < len; i++) {
		if (memcmp(s + i, "-pod", 4) == 0 && pod_uid_of(s + i + 4, len - 6 - i - 4, '_', out))
			return true;
	}
	return false;
}

/* The outermost pod and the first container below it: what a pod makes further inside are its own words. A relative path
 * ("/../<id>/...") hides the upper components, so a pod is believed there only when no container comes before it. */
static void parse_path(const char *p, size_t len, struct cgroup_identity *out)
{
	const char *end = p + len;
	bool relative = len >= 3 && memcmp(p, "/..", 3) == 0;
	memset(out, 0, sizeof *out);
	while (p < end) {
		const char *stop = p;
		while (stop < end && *stop != '/' && *stop != ':')
			stop++;
		size_t n = (size_t)(stop - p);
		char container[80];
		if (!out->pod_uid[0] && pod_of(p, n, out->pod_uid)) {
			out->container_id[0] = '\0'; /* what stood before is the node itself (kind, Docker in Docker) */
		} else if (!out->container_id[0] && container_of(p, n, container)) {
			if (relative && !out->pod_uid[0])
				return;
			memcpy(out->container_id, container, sizeof container);
			if (out->pod_uid[0])
				return;
		}
		p = stop + 1;
	}
}

void cgroup_parse_identity(const char *text, struct cgroup_identity *out)
{
	memset(out, 0, sizeof *out);
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");
		const char *first = memchr(line, ':', len);
		const char *path = first ? memchr(first + 1, ':', len - (size_t)(first + 1 - line)) : NULL;
		if (path) {
			struct cgroup_identity here;
			parse_path(path + 1, len - (size_t)(path + 1 - line), &here);
			if (here.pod_uid[0] && here.container_id[0]) {
				*out = here;
				return;
			}
			if ((here.pod_uid[0] && !out->pod_uid[0]) || (here.container_id[0] && !out->container_id[0] && !out->pod_uid[0]))
				*out = here;
		}
		line += len + (line[len] == '\n');
	}
}

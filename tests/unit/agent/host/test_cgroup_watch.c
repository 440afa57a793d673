#include "agent/host/cgroup_watch.h"
#include "agent/host/cgroup.h"
#include "tests/unit/agent/host/fake_proc.h"

#include <poll.h>

#define UID "0a1b2c3d-1111-2222-3333-444455556666"
#define SLICE "kubepods-burstable-pod0a1b2c3d_1111_2222_3333_444455556666.slice"
#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct {
	const char *path;
	enum cgroup_place place;
} places[] = {
	{"", CGROUP_PLACE_ABOVE},
	{"/system.slice", CGROUP_PLACE_OTHER},
	{"/user.slice/user-0.slice", CGROUP_PLACE_OTHER},
	{"/kubepods", CGROUP_PLACE_ABOVE},
	{"/kubelet", CGROUP_PLACE_ABOVE},
	{"/kubelet/kubepods/besteffort", CGROUP_PLACE_ABOVE},
	{"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice", CGROUP_PLACE_ABOVE},
	{"/kubepods/burstable/pod" UID, CGROUP_PLACE_POD},
	{"/kubepods.slice/kubepods-burstable.slice/" SLICE, CGROUP_PLACE_POD},
	{"/kubepods/burstable/pod" UID "/made-inside", CGROUP_PLACE_OTHER},
	{"/kubepods/burstable/pod" UID "/" ID, CGROUP_PLACE_CONTAINER},
	{"/kubepods.slice/kubepods-burstable.slice/" SLICE "/cri-containerd-" ID ".scope", CGROUP_PLACE_CONTAINER},
	{"/kubepods.slice/kubepods-burstable.slice/" SLICE "/crio-conmon-" ID ".scope", CGROUP_PLACE_OTHER},
	{"/kubepods/burstable/pod" UID "/" ID "/init.scope", CGROUP_PLACE_INSIDE},
	{"/docker/" ID, CGROUP_PLACE_OTHER},
};

Test(cgroup_watch, places)
{
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		struct cgroup_identity id;
		cr_expect_eq(cgroup_watch_place(places[i].path, &id), places[i].place, "%s: %d", places[i].path, (int)cgroup_watch_place(places[i].path, &id));
		if (places[i].place == CGROUP_PLACE_CONTAINER)
			cr_expect(strcmp(id.pod_uid, UID) == 0 && strcmp(id.container_id, ID) == 0, "%s", places[i].path);
	}
}

static void count_container(void *ctx, const struct cgroup_dir *dir, const char *pod_uid, const char *container_id)
{
	int *seen = ctx;
	(void)dir;
	cr_expect_str_eq(pod_uid, UID);
	cr_expect_str_eq(container_id, ID);
	++*seen;
}

Test(cgroup_watch, a_kubelet_may_have_a_root_of_its_own_for_pods, .timeout = 20)
{
	static const char *const roots[] = {"kubepods", "kubelet/kubepods", "mine/kubepods", "mine.slice/mine-kubepods.slice"};
	for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
		struct fake_proc proc;
		struct err e = ERR_INIT;
		char mount[512], text[1024], path[256];
		int seen = 0;
		fake_proc_init(&proc);
		fake_path(&proc, mount, "cg");
		snprintf(text, sizeof text, "41 31 0:38 / %s rw - cgroup2 cgroup2 rw\n", mount);
		fake_text(&proc, "self/mountinfo", text);
		fake_process(&proc, &(struct fake_process){.pid = getpid()});
		fake_text(&proc, "cg/system.slice/x", "");
		snprintf(path, sizeof path, "cg/%s/burstable/x", roots[i]);
		fake_text(&proc, path, "");
		struct cgroup_watch *w = cgroup_watch_open(proc.root, &e);
		cr_assert_not_null(w, "%s", e.message);
		snprintf(path, sizeof path, "cg/%s/burstable/pod" UID "/x", roots[i]);
		fake_text(&proc, path, "");
		cgroup_watch_step(w, count_container, &seen);
		snprintf(path, sizeof path, "cg/%s/burstable/pod" UID "/" ID "/x", roots[i]);
		fake_text(&proc, path, "");
		cr_expect_gt(poll(&(struct pollfd){.fd = cgroup_watch_fd(w), .events = POLLIN}, 1, 5000), 0, "%s", roots[i]);
		cgroup_watch_step(w, count_container, &seen);
		cr_expect_eq(seen, 1, "%s: %d", roots[i], seen);
		cgroup_watch_close(w);
		fake_proc_fini(&proc);
	}
}

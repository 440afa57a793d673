#include "agent/host/cgroup_watch.h"
#include "agent/host/cgroup.h"

#include <criterion/criterion.h>

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

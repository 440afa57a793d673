#include "agent/host/cgroup.h"
#include "agent/host/cgroup_dir.h"
#include "agent/perf/perf_group.h"
#include "common/link/link_msg.h"
#include "tests/unit/agent/host/fake_proc.h"

#define UID "0a1b2c3d-1111-2222-3333-444455556666"
#define UID_ "0a1b2c3d_1111_2222_3333_444455556666"
#define UID_B "99999999-1111-2222-3333-444455556666"
#define UID_B_ "99999999_1111_2222_3333_444455556666"
#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2 "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
#define STATIC_UID "00112233445566778899aabbccddeeff"

static const struct {
	const char *what, *text, *pod_uid, *container_id;
} identities[] = {
	{"containerd, cgroupfs, v1", "12:cpu,cpuacct:/kubepods/burstable/pod" UID "/" ID "\n1:name=systemd:/kubepods/burstable/pod" UID "/" ID "\n", UID, ID},
	{"containerd, cgroupfs, v2, guaranteed", "0::/kubepods/pod" UID "/" ID "\n", UID, ID},
	{"containerd, systemd, v2", "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/cri-containerd-" ID ".scope\n", UID, ID},
	{"containerd, systemd, guaranteed", "0::/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope", UID, ID},
	{"containerd, systemd driver of the kubelet only", "5:cpu:/system.slice/containerd.service/kubepods-besteffort-pod" UID_ ".slice:cri-containerd:" ID "\n", UID, ID},
	{"CRI-O, systemd", "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_ ".slice/crio-" ID ".scope\n", UID, ID},
	{"CRI-O, systemd, group of its own inside", "0::/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope/container\n", UID, ID},
	{"CRI-O, cgroupfs", "0::/kubepods/besteffort/pod" UID "/crio-" ID "\n", UID, ID},
	{"CRI-O's supervisor", "0::/kubepods.slice/kubepods-pod" UID_ ".slice/crio-conmon-" ID ".scope\n", UID, ""},
	{"Docker, cgroupfs, pod", "4:memory:/kubepods/burstable/pod" UID "/" ID "\n", UID, ID},
	{"Docker, systemd, pod", "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/docker-" ID ".scope\n", UID, ID},
	{"Docker, no pod", "0::/system.slice/docker-" ID ".scope\n", "", ID},
	{"Docker, no pod, cgroupfs", "9:cpu:/docker/" ID "\n", "", ID},
	{"Podman", "0::/machine.slice/libpod-" ID ".scope/container\n", "", ID},
	{"hybrid: the v2 line is only systemd's", "2:cpu:/kubepods/pod" UID "/" ID "\n0::/system.slice/containerd.service\n", UID, ID},
	{"hybrid: the v2 line comes first", "0::/system.slice/containerd.service\n2:cpu:/kubepods/pod" UID "/" ID "\n", UID, ID},
	{"kind, seen from the host", "0::/docker/" ID2 "/kubelet/kubepods/burstable/pod" UID "/" ID "\n", UID, ID},
	{"kind, systemd", "0::/system.slice/docker-" ID2 ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod" UID_ ".slice/cri-containerd-" ID ".scope\n", UID, ID},
	{"kind, seen from its node", "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope\n", UID, ID},
	{"a group namespace of the agent", "0::/../../pod" UID "/" ID "\n", UID, ID},
	{"the same, systemd", "0::/../../kubepods-besteffort.slice/kubepods-besteffort-pod" UID_ ".slice/cri-containerd-" ID ".scope\n", UID, ID},
	{"static pod", "0::/kubepods/burstable/pod" STATIC_UID "/" ID "\n", STATIC_UID, ID},
	{"a process of the pod below its container", "0::/kubepods/pod" UID "/" ID "/init.scope/x\n", UID, ID},
	{"a nested container that plays another pod", "0::/kubepods/pod" UID "/" ID "/kubepods/podffffffff-1111-2222-3333-444455556666/" ID2 "\n", UID, ID},
	{"the agent's own pod, an inner group plays another pod", "0::/../" ID2 "/pod" UID "/" ID "\n", "", ""},
	{"the pod's pause group only", "0::/kubepods/pod" UID "\n", UID, ""},
	{"no container", "0::/user.slice/user-1000.slice/session-3.scope\n", "", ""},
	{"root", "0::/\n", "", ""},
	{"upper-case and short ids are none", "0::/kubepods/pod0A1B2C3D-1111-2222-3333-444455556666/0123\n", "", ""},
	{"65 digits are none", "0::/docker/" ID "0\n", "", ""},
	{"text without colons", "nonsense", "", ""},
	{"nothing", "", "", ""},
};

Test(cgroup, tells_pod_and_container)
{
	for (size_t i = 0; i < sizeof identities / sizeof identities[0]; i++) {
		struct cgroup_identity id;
		cgroup_parse_identity(identities[i].text, &id);
		cr_expect_str_eq(id.pod_uid, identities[i].pod_uid, "%s: pod '%s'", identities[i].what, id.pod_uid);
		cr_expect_str_eq(id.container_id, identities[i].container_id, "%s: container '%s'", identities[i].what, id.container_id);
	}
}

Test(cgroup, reads_numbers)
{
	cr_expect_eq(cgroup_parse_number("0"), 0);
	cr_expect_eq(cgroup_parse_number("max"), INT64_MAX);
	cr_expect_eq(cgroup_parse_number("-1"), -1);
	cr_expect_eq(cgroup_parse_number(""), -1);
	cr_expect_eq(cgroup_parse_number("x"), -1);
	cr_expect_eq(cgroup_parse_number("99999999999999999999999"), INT64_MAX);
	cr_expect_eq(cgroup_parse_keyed("usage_usec 5\nuser_usec 6\n", "user_usec"), 6);
	cr_expect_eq(cgroup_parse_keyed("usage_usec 5\nuser_usec 6", "user"), -1);
	cr_expect_eq(cgroup_parse_cpu_max("150000 100000"), 1500);
	cr_expect_eq(cgroup_parse_cpu_max("max 100000"), 0);
	cr_expect_eq(cgroup_parse_cpu_max("100000 0"), -1);
	cr_expect_eq(cgroup_parse_cpu_max("100000"), -1);
}

static const struct {
	const char *group, *root, *below; /* NULL: not below */
} roots[] = {
	{"/a/b", "/", "/a/b"},
	{"/", "/", ""},
	{"/docker/x/a", "/docker/x", "/a"},
	{"/docker/x", "/docker/x", ""},
	{"/docker/xy", "/docker/x", NULL},
	{"/other", "/docker/x", NULL},
	{"/../../pod/x", "/", NULL},
	{"/a/../b", "/", NULL},
};

Test(cgroup, places_groups_below_the_mount)
{
	for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
		char out[128] = "?";
		bool below = cgroup_below_root(roots[i].group, roots[i].root, out, sizeof out);
		cr_expect_eq(below, roots[i].below != NULL, "%s in %s", roots[i].group, roots[i].root);
		if (below && roots[i].below)
			cr_expect_str_eq(out, roots[i].below);
	}
}

static struct fake_proc proc;

static void setup(void)
{
	fake_proc_init(&proc);
}

static void teardown(void)
{
	fake_proc_fini(&proc);
}

TestSuite(cgroup_tree, .init = setup, .fini = teardown, .timeout = 20);

static void mounts(const char *format)
{
	char text[2048], path[512];
	fake_path(&proc, path, "cg");
	snprintf(text, sizeof text, format, path, path, path, path);
	fake_text(&proc, "self/mountinfo", text);
}

static pid_t member(const char *cgroup)
{
	return fake_process(&proc, &(struct fake_process){.cgroup = cgroup});
}

#define V2 "22 1 0:21 / /proc rw - proc proc rw\n41 31 0:38 / %s rw,relatime shared:9 - cgroup2 cgroup2 rw\n"

Test(cgroup_tree, reads_v2_with_the_tightest_limits)
{
	mounts(V2);
	fake_text(&proc, "cg/cpu.stat", "usage_usec 999\n");
	fake_text(&proc, "cg/kubepods/cpu.max", "max 100000\n");
	fake_text(&proc, "cg/kubepods/pod" UID "/cpu.max", "50000 100000\n");
	fake_text(&proc, "cg/kubepods/pod" UID "/cpu.stat", "usage_usec 9\nnr_periods 40\nnr_throttled 7\nthrottled_usec 123\n");
	fake_text(&proc, "cg/kubepods/pod" UID "/memory.max", "80000000\n");
	fake_text(&proc, "cg/kubepods/pod" UID "/memory.current", "79000000\n");
	fake_text(&proc, "cg/kubepods/pod" UID "/memory.stat", "inactive_file 0\n");
	fake_text(&proc, "cg/kubepods/pod" UID "/" ID "/cpu.max", "200000 100000\n");
	fake_text(&proc, "cg/kubepods/pod" UID "/" ID "/cpu.stat", "usage_usec 1500\nnr_periods 1\nnr_throttled 0\nthrottled_usec 0\n");
	fake_text(&proc, "cg/kubepods/pod" UID "/" ID "/memory.max", "50000000\n");
	fake_text(&proc, "cg/kubepods/pod" UID "/" ID "/memory.current", "30000000\n");
	fake_text(&proc, "cg/kubepods/pod" UID "/" ID "/memory.stat", "anon 5\ninactive_file 10000000\nactive_file 3\n");
	fake_text(&proc, "cg/kubepods/pod" UID "/" ID "/cgroup.events", "populated 1\nfrozen 1\n");
	pid_t pid = member("0::/kubepods/pod" UID "/" ID "\n");
	struct cgroup_cpu cpu;
	struct cgroup_memory memory;
	cgroup_read_cpu(proc.root, &(struct cgroup_owner){.pid = pid}, &cpu);
	cr_expect_eq(cpu.usage_ns, 1500000);
	cr_expect_eq(cpu.limit_millicores, 500);
	cr_expect_eq(cpu.periods, 40);
	cr_expect_eq(cpu.throttled_periods, 7);
	cr_expect_eq(cpu.throttled_ns, 123000);
	cgroup_read_memory(proc.root, &(struct cgroup_owner){.pid = pid}, &memory);
	cr_expect_eq(memory.usage_bytes, 79000000, "the pod's limit is nearer than the container's");
	cr_expect_eq(memory.limit_bytes, 80000000);
	cr_expect(cgroup_is_frozen(proc.root, &(struct cgroup_owner){.pid = pid}));
	fake_text(&proc, "cg/kubepods/pod" UID "/memory.max", "max\n");
	cgroup_read_memory(proc.root, &(struct cgroup_owner){.pid = pid}, &memory);
	cr_expect_eq(memory.usage_bytes, 20000000, "the working set");
	cr_expect_eq(memory.limit_bytes, 50000000);
}

Test(cgroup_tree, a_group_that_has_gone_has_no_known_limit)
{
	struct cgroup_memory memory;
	mounts(V2);
	fake_text(&proc, "cg/kubepods/memory.max", "max\n");
	fake_text(&proc, "cg/kubepods/memory.current", "900\n");
	cgroup_read_memory(proc.root, &(struct cgroup_owner){.pid = member("0::/kubepods/pod" UID "/" ID "\n")}, &memory);
	cr_expect_eq(memory.usage_bytes, -1);
	cr_expect_eq(memory.limit_bytes, -1);
}

#define V1                                                                        \
	"31 23 0:28 / /x rw - tmpfs tmpfs rw\n"                                   \
	"32 31 0:29 /docker/node %s/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n" \
	"35 31 0:32 /docker/node %s/memory rw - cgroup cgroup rw,memory\n"        \
	"37 31 0:33 /docker/node %s/freezer rw - cgroup cgroup rw,freezer\n"      \
	"41 31 0:38 / %s/unified rw - cgroup2 cgroup2 rw\n"

Test(cgroup_tree, reads_v1_and_hybrid)
{
	mounts(V1);
	fake_text(&proc, "cg/cpu/pod/c/cpuacct.usage", "123456\n");
	fake_text(&proc, "cg/cpu/pod/c/cpu.cfs_quota_us", "-1\n");
	fake_text(&proc, "cg/cpu/pod/c/cpu.cfs_period_us", "100000\n");
	fake_text(&proc, "cg/cpu/pod/cpu.cfs_quota_us", "25000\n");
	fake_text(&proc, "cg/cpu/pod/cpu.cfs_period_us", "100000\n");
	fake_text(&proc, "cg/cpu/pod/cpu.stat", "nr_periods 10\nnr_throttled 2\nthrottled_time 5000\n");
	fake_text(&proc, "cg/memory/pod/c/memory.usage_in_bytes", "5000\n");
	fake_text(&proc, "cg/memory/pod/c/memory.limit_in_bytes", "9223372036854771712\n");
	fake_text(&proc, "cg/memory/pod/c/memory.stat", "inactive_file 1\ntotal_inactive_file 2000\n");
	fake_text(&proc, "cg/freezer/pod/c/freezer.self_freezing", "0\n");
	fake_text(&proc, "cg/freezer/pod/c/freezer.parent_freezing", "0\n");
	pid_t pid = member("4:cpu,cpuacct:/docker/node/pod/c\n5:memory:/docker/node/pod/c\n6:freezer:/docker/node/pod/c\n0::/pod/c\n");
	struct cgroup_cpu cpu;
	struct cgroup_memory memory;
	cgroup_read_cpu(proc.root, &(struct cgroup_owner){.pid = pid}, &cpu);
	cr_expect_eq(cpu.usage_ns, 123456);
	cr_expect_eq(cpu.limit_millicores, 250);
	cr_expect_eq(cpu.throttled_periods, 2);
	cr_expect_eq(cpu.throttled_ns, 5000);
	cgroup_read_memory(proc.root, &(struct cgroup_owner){.pid = pid}, &memory);
	cr_expect_eq(memory.usage_bytes, 3000);
	cr_expect_eq(memory.limit_bytes, 0, "no limit");
	cr_expect_not(cgroup_is_frozen(proc.root, &(struct cgroup_owner){.pid = pid}));
	fake_text(&proc, "cg/freezer/pod/c/freezer.parent_freezing", "1\n");
	cr_expect(cgroup_is_frozen(proc.root, &(struct cgroup_owner){.pid = pid}));
}

Test(cgroup_tree, looks_for_relative_groups)
{
	mounts(V2);
	fake_text(&proc, "cg/kubepods/burstable/podX/c1/cpu.stat", "usage_usec 4\n");
	fake_text(&proc, "cg/kubepods/burstable/podX/c1/memory.current", "100\n");
	pid_t pid = member("0::/../../podX/c1\n");
	struct cgroup_cpu cpu;
	struct cgroup_memory memory;
	cgroup_read_cpu(proc.root, &(struct cgroup_owner){.pid = pid}, &cpu);
	cr_expect_eq(cpu.usage_ns, 4000);
	cgroup_read_memory(proc.root, &(struct cgroup_owner){.pid = pid}, &memory);
	cr_expect_eq(memory.usage_bytes, 100);
}

Test(cgroup_tree, knows_nothing_without_mounts)
{
	fake_text(&proc, "self/mountinfo", "22 1 0:21 / /proc rw - proc proc rw\n");
	pid_t pid = member("0::/a\n");
	struct cgroup_cpu cpu;
	struct cgroup_memory memory;
	cgroup_read_cpu(proc.root, &(struct cgroup_owner){.pid = pid}, &cpu);
	cgroup_read_memory(proc.root, &(struct cgroup_owner){.pid = pid}, &memory);
	cr_expect_eq(cpu.usage_ns, -1);
	cr_expect_eq(cpu.limit_millicores, -1);
	cr_expect_eq(memory.usage_bytes, -1);
	cr_expect_not(cgroup_is_frozen(proc.root, &(struct cgroup_owner){.pid = pid}));
}

Test(cgroup_tree, measures_pods)
{
	mounts(V2);
	fake_text(&proc, "cg/kubepods/burstable/pod" UID "/cpu.stat", "usage_usec 1000\n");
	fake_text(&proc, "cg/kubepods/burstable/pod" UID "/memory.current", "4096\n");
	fake_text(&proc, "cg/kubepods.slice/kubepods-pod" UID_B_ ".slice/cpu.stat", "usage_usec 7\n");
	struct link_pod_usage pods[3] = {{.pod_uid = UID}, {.pod_uid = "ffffffff-1111-2222-3333-444455556666"}, {.pod_uid = UID_B}};
	cgroup_pod_usage(proc.root, pods, 3, 20);
	cr_expect_eq(pods[2].cpu_millicores, 0);
	cr_expect_eq(pods[2].memory_bytes, -1);
	cr_expect_eq(pods[0].cpu_millicores, 0);
	cr_expect_eq(pods[0].memory_bytes, 4096);
	cr_expect_eq(pods[1].cpu_millicores, -1);
	cr_expect_eq(pods[1].memory_bytes, -1);
}

/* A process that cannot be seen: its container by name, then as with others up to the pod's limits. */
Test(cgroup_tree, reads_a_container)
{
	mounts(V2);
	fake_text(&proc, "cg/kubepods.slice/kubepods-pod" UID_ ".slice/cpu.max", "50000 100000\n");
	fake_text(&proc, "cg/kubepods.slice/kubepods-pod" UID_ ".slice/cpu.stat", "usage_usec 9\nnr_periods 40\nnr_throttled 7\nthrottled_usec 123\n");
	fake_text(&proc, "cg/kubepods.slice/kubepods-pod" UID_ ".slice/crio-conmon-" ID ".scope/cpu.stat", "usage_usec 77\n");
	fake_text(&proc, "cg/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope/cpu.stat", "usage_usec 1500\n");
	fake_text(&proc, "cg/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope/memory.max", "50000000\n");
	fake_text(&proc, "cg/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope/memory.current", "30000000\n");
	fake_text(&proc, "cg/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope/memory.stat", "inactive_file 0\n");
	fake_text(&proc, "cg/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope/cgroup.events", "frozen 1\n");
	struct cgroup_owner known = {.pod_uid = UID, .container_id = ID};
	struct cgroup_cpu cpu;
	struct cgroup_memory memory;
	cgroup_read_cpu(proc.root, &known, &cpu);
	cr_expect_eq(cpu.usage_ns, 1500000);
	cr_expect_eq(cpu.limit_millicores, 500, "the pod's");
	cr_expect_eq(cpu.throttled_periods, 7);
	cgroup_read_memory(proc.root, &known, &memory);
	cr_expect_eq(memory.usage_bytes, 30000000);
	cr_expect_eq(memory.limit_bytes, 50000000);
	cr_expect(cgroup_is_frozen(proc.root, &known));
	const struct cgroup_owner unknown[] = {{.pod_uid = UID}, {.container_id = ID}, {.pod_uid = UID, .container_id = ID2},
					       {.pod_uid = UID_B, .container_id = ID}, {.pod_uid = ID, .container_id = ID}};
	for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
		cgroup_read_cpu(proc.root, &unknown[i], &cpu);
		cgroup_read_memory(proc.root, &unknown[i], &memory);
		cr_expect(cpu.usage_ns == -1 && memory.usage_bytes == -1, "row %zu", i);
		cr_expect_not(cgroup_is_frozen(proc.root, &unknown[i]));
	}
}

Test(cgroup_tree, reads_this_machine)
{
	struct cgroup_memory memory;
	cgroup_read_memory("/proc", &(struct cgroup_owner){.pid = getpid()}, &memory);
	cr_expect(memory.usage_bytes == -1 || memory.usage_bytes > 0);
}

static const struct {
	const char *what, *group, *is; /* below the mount */
} containers[] = {
	{"its own", "/kubepods/pod" UID "/" ID, "/kubepods/pod" UID "/" ID},
	{"a group below it", "/kubepods/pod" UID "/" ID "/init.scope/x", "/kubepods/pod" UID "/" ID},
	{"CRI-O", "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope/container", "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope"},
	{"a container in it", "/kubepods/pod" UID "/" ID "/docker/" ID2, "/kubepods/pod" UID "/" ID},
	{"a pod on a node that is a container", "/docker/" ID2 "/kubelet/kubepods/pod" UID "/" ID "/a", "/docker/" ID2 "/kubelet/kubepods/pod" UID "/" ID},
	{"none", "/system.slice/checkout.service", "/system.slice/checkout.service"},
	{"the root's", "", ""},
};

Test(cgroup_tree, leaves_for_the_container)
{
	for (size_t i = 0; i < sizeof containers / sizeof containers[0]; i++) {
		struct cgroup_dir d = {.v2 = true, .mount = "/cg"};
		snprintf(d.path, sizeof d.path, "/cg%s", containers[i].group);
		cgroup_dir_leave_for_container(&d);
		cr_expect_str_eq(d.path + 3, containers[i].is, "%s: %s", containers[i].what, d.path);
	}
}

#define PERF_V1 "37 31 0:33 / %s/perf rw - cgroup cgroup rw,perf_event\n41 31 0:38 / %s/unified rw - cgroup2 cgroup2 rw\n"

/* What the kernel samples is certain, or it is every process. */
Test(cgroup_tree, finds_what_the_kernel_is_to_sample)
{
	static const struct {
		const char *what, *mounts, *cgroup, *procs_of, *type_of, *is; /* `is` below cg; NULL: none */
	} rows[] = {
		{"v1", PERF_V1, "3:perf_event:/pod/c\n0::/other\n", "perf/pod/c", NULL, "/perf/pod/c"},
		{"v2", V2, "0::/pod/a\n", "pod/a", NULL, "/pod/a"},
		{"a container's group below", V2, "0::/pod/" ID "/x\n", "pod/" ID "/x", NULL, "/pod/" ID},
		{"a relative path", V2, "0::/../../pod/b\n", "deep/pod/b", NULL, "/deep/pod/b"},
		{"threads in several groups", V2, "0::/pod/t/one\n", "pod/t", "pod/t/one", "/pod/t"},
		{"the root's", V2, "0::/\n", ".", NULL, NULL},
		{"not listed there", V2, "0::/pod/d\n", NULL, NULL, NULL},
		{"not to be seen", V2, "0::/../../gone/e\n", NULL, NULL, NULL},
		{"no mount", "22 1 0:21 / %s rw - proc proc rw\n", "0::/pod/f\n", "pod/f", NULL, NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char path[512], number[32];
		mounts(rows[i].mounts);
		pid_t pid = member(rows[i].cgroup);
		snprintf(number, sizeof number, "1\n%d\n", (int)pid);
		if (rows[i].procs_of) {
			snprintf(path, sizeof path, "cg/%s/cgroup.procs", rows[i].procs_of);
			fake_text(&proc, path, number);
		}
		if (rows[i].type_of) {
			snprintf(path, sizeof path, "cg/%s/cgroup.type", rows[i].type_of);
			fake_text(&proc, path, "threaded\n");
		}
		struct perf_group g;
		bool found = perf_group_open(&g, proc.root, pid);
		cr_expect_eq(found, rows[i].is != NULL, "%s", rows[i].what);
		fake_path(&proc, path, "cg");
		if (found && rows[i].is)
			cr_expect_str_eq(g.dir.path + strlen(path), rows[i].is, "%s: %s", rows[i].what, g.dir.path);
		cr_expect_not(perf_group_left(&g, proc.root, pid), "%s", rows[i].what);
		perf_group_close(&g);
	}
}

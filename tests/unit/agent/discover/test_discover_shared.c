#include "agent/diag/diag_ipc.h"
#include "agent/target/target.h"
#include "common/api/reason.h"
#include "common/base/clock.h"
#include "tests/unit/agent/host/fake_proc.h"

#include <sys/xattr.h>

#define UID "11111111-2222-3333-4444-555555555555"

static struct fake_proc proc;
static struct target_list list;
static char parent[512];

static void setup(void)
{
	fake_proc_init(&proc);
	memset(&list, 0, sizeof list);
	fake_path(&proc, parent, "shared");
	mkdir(parent, 0755);
}

static void teardown(void)
{
	target_list_fini(&list);
	fake_proc_fini(&proc);
}

TestSuite(discover_shared, .init = setup, .fini = teardown, .timeout = 30);

static void serve(const char *folder, pid_t inner_pid, int key, enum fake_behaviour how)
{
	char path[600];
	struct fake_server s = fake_server(&proc, how, inner_pid);
	snprintf(path, sizeof path, "%s/%s/dotnet-diagnostic-%d-%d-socket", parent, folder, inner_pid, key);
	fake_serve_at(&s, path);
}

static void discover(struct discover_options o)
{
	struct err e = ERR_INIT;
	o.mode = AGENT_MODE_SHARED_TMP;
	o.shared_parent = parent;
	o.query_runtime = true;
	o.deadline_ms = clock_mono_ms() + 10000;
	target_list_fini(&list);
	cr_assert_eq(discover_targets(&o, &list, &e), 0, "%s", e.message);
}

Test(discover_shared, describes_a_process)
{
	serve("shop_cart-1", 1, 500, FAKE_ANSWERS);
	discover((struct discover_options){.pod_namespace = "shop", .pod_name = "cart-1", .pod_uid = UID});
	cr_assert_eq(list.count, 1);
	const struct target *t = &list.items[0];
	cr_expect_eq(t->pid, 0);
	cr_expect_eq(t->start_time, 0);
	cr_expect_eq(t->inner_pid, 1);
	cr_expect_eq(t->uid, geteuid());
	cr_expect_str_eq(t->shared_folder, "shop_cart-1");
	cr_expect_str_eq(t->pod_uid, UID);
	cr_expect_str_eq(t->socket_path, "/tmp/dotnet-diagnostic-1-500-socket");
	cr_expect_str_eq(t->tmp_inner, "/tmp");
	cr_expect_str_eq(t->entrypoint, "Shop");
	cr_expect_str_eq(t->runtime_version, "10.0.12");
	cr_expect(t->profilable, "%s", t->message ? t->message : "");
	struct err e = ERR_INIT;
	AUTO_FD int fd = diag_ipc_connect(t, clock_mono_ms() + 1000, &e);
	cr_expect_geq(fd, 0, "%s", e.message);
}

Test(discover_shared, keeps_to_the_pod_that_was_asked_for)
{
	serve("shop_cart-1", 1, 500, FAKE_ANSWERS);
	serve("shop_cart-2", 1, 600, FAKE_ANSWERS);
	serve(UID "/web", 1, 700, FAKE_ANSWERS);
	serve(UID "/side", 1, 800, FAKE_ANSWERS);
	discover((struct discover_options){0});
	cr_assert_eq(list.count, 4);
	cr_expect_str_eq(list.items[0].shared_folder, "shop_cart-1", "the oldest comes first");
	discover((struct discover_options){.pod_namespace = "shop", .pod_name = "cart-2"});
	cr_assert_eq(list.count, 1);
	cr_expect_str_eq(list.items[0].shared_folder, "shop_cart-2");
	discover((struct discover_options){.pod_namespace = "shop", .pod_name = "cart-3"});
	cr_expect_eq(list.count, 0);
	discover((struct discover_options){.pod_uid = UID});
	cr_assert_eq(list.count, 2);
	cr_expect_str_eq(list.items[0].container_name, "web");
	cr_expect_str_eq(list.items[0].pod_uid, UID);
	cr_expect(list.items[0].profilable);
	discover((struct discover_options){.pod_uid = UID, .container_names = (const char *const[]){"side"}, .container_name_count = 1});
	cr_assert_eq(list.count, 1);
	cr_expect_str_eq(list.items[0].container_name, "side");
	struct err e = ERR_INIT;
	AUTO_FD int fd = diag_ipc_connect(&list.items[0], clock_mono_ms() + 1000, &e);
	cr_expect_geq(fd, 0, "%s", e.message);
}

Test(discover_shared, is_not_fooled_by_what_pods_put_there)
{
	char path[600], target[600];
	serve("shop_a", 1, 500, FAKE_ANSWERS);
	serve("shop_a", 2, 501, FAKE_SILENT);
	serve("shop_a", 3, 502, FAKE_OTHER_PID);
	snprintf(path, sizeof path, "%s/shop_a/dotnet-diagnostic-4-503-socket", parent);
	close(fake_listen(path)); /* stale */
	snprintf(path, sizeof path, "%s/shop_a/dotnet-diagnostic-5-504-socket", parent);
	cr_assert_eq(symlink("dotnet-diagnostic-1-500-socket", path), 0);
	snprintf(path, sizeof path, "%s/shop_a/dotnet-diagnostic-6-505-socket", parent);
	cr_assert_eq(mkfifo(path, 0666), 0);
	snprintf(path, sizeof path, "%s/shop_linked", parent);
	snprintf(target, sizeof target, "%s/shop_a", parent);
	cr_assert_eq(symlink(target, path), 0);
	int64_t began = clock_mono_ms();
	discover((struct discover_options){0});
	cr_expect_lt(clock_mono_ms() - began, 4000);
	cr_assert_eq(list.count, 3);
	cr_expect(list.items[0].profilable);
	cr_expect_str_eq(list.items[1].reason, REASON_AttachFailed);
	cr_expect(strstr(list.items[1].message, "does not answer"));
	cr_expect(strstr(list.items[2].message, "answers for process"), "%s", list.items[2].message);
	discover((struct discover_options){.pod_namespace = "..", .pod_name = "x"});
	cr_expect_eq(list.count, 0);
	discover((struct discover_options){.pod_namespace = "shop", .pod_name = "linked"});
	cr_expect_eq(list.count, 0, "a link in the place of a pod's folder leads nowhere");
	discover((struct discover_options){.pod_namespace = "shop/../shop", .pod_name = "a"});
	cr_expect_eq(list.count, 0);
}

Test(discover_shared, tells_when_a_folder_was_opened_late)
{
	char path[600];
	serve("shop_cart-1", 1, 500, FAKE_ANSWERS);
	snprintf(path, sizeof path, "%s/shop_cart-2", parent);
	cr_assert_eq(mkdir(path, 0777), 0);
	if (setxattr(path, "user.drdotnet.opened", "1700000000", 10, 0) < 0)
		cr_skip_test("no extended attributes here");
	discover((struct discover_options){.pod_namespace = "shop", .pod_name = "cart-1"});
	cr_expect_eq(list.opened_late_s, 0);
	discover((struct discover_options){.pod_namespace = "shop", .pod_name = "cart-2"});
	cr_expect_eq(list.count, 0);
	cr_expect_eq(list.opened_late_s, 1700000000);
}

Test(discover_shared, says_when_there_is_no_parent)
{
	struct err e = ERR_INIT;
	struct discover_options o = {.mode = AGENT_MODE_SHARED_TMP, .shared_parent = "/nowhere/at/all"};
	cr_expect_eq(discover_targets(&o, &list, &e), -1);
	cr_expect_eq(e.kind, ERR_NOT_FOUND);
}

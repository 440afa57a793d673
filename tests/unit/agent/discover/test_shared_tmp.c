#include "agent/discover/shared_tmp.h"
#include "tests/unit/agent/host/fake_proc.h"

#include <poll.h>
#include <sys/xattr.h>
#include <time.h>

#define UID "11111111-2222-3333-4444-555555555555"

static struct fake_proc proc;
static struct shared_tmp *watcher;
static char parent[512];

static void setup(void)
{
	fake_proc_init(&proc);
	fake_path(&proc, parent, "shared");
	mkdir(parent, 0711);
	watcher = calloc(1, sizeof *watcher);
	if (geteuid() != 0)
		cr_skip_test("needs root");
}

static void teardown(void)
{
	shared_tmp_fini(watcher);
	free(watcher);
	fake_proc_fini(&proc);
}

TestSuite(shared_tmp, .init = setup, .fini = teardown, .timeout = 30);

static void make(const char *name, mode_t mode)
{
	char path[700];
	snprintf(path, sizeof path, "%s/%s", parent, name);
	cr_assert_eq(mkdir(path, 0700), 0, "%s: %s", path, strerror(errno));
	cr_assert_eq(chmod(path, mode), 0);
}

static unsigned mode_of(const char *name)
{
	char path[700];
	struct stat st;
	snprintf(path, sizeof path, "%s/%s", parent, name);
	cr_assert_eq(stat(path, &st), 0, "%s", path);
	return st.st_mode & 07777;
}

static void init(void)
{
	struct err e = ERR_INIT;
	cr_assert_eq(shared_tmp_init(watcher, parent, &e), 0, "%s", e.message);
}

static void settle(void)
{
	struct pollfd p = {.fd = shared_tmp_fd(watcher), .events = POLLIN};
	while (poll(&p, 1, 50) > 0)
		shared_tmp_step(watcher);
}

Test(shared_tmp, decides_by_owner_and_mode)
{
	static const struct {
		uid_t owner;
		mode_t mode;
		bool wants;
	} rows[] = {
		{0, S_IFDIR | 0755, true},   {0, S_IFDIR | 0750, true},  {0, S_IFDIR | 0777, true},
		{0, S_IFDIR | 01777, false}, {0, S_IFDIR | 0700, false}, {1000, S_IFDIR | 0755, false},
		{0, S_IFREG | 0755, false},  {0, S_IFDIR | 02755, false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		cr_expect_eq(shared_tmp_wants_repair(rows[i].owner, rows[i].mode), rows[i].wants, "row %zu", i);
}

Test(shared_tmp, opens_the_parent_and_what_is_there)
{
	make("shop_cart", 0755);
	make("shop_closed", 0700);
	make(UID, 0755);
	make(UID "/web", 0755);
	init();
	cr_expect_eq(mode_of("."), 01777, "what kubelet makes gets this mode");
	cr_expect_eq(mode_of("shop_cart"), 01777);
	cr_expect_eq(mode_of("shop_closed"), 0700);
	cr_expect_eq(mode_of(UID), 0755, "only the container's folder is opened");
	cr_expect_eq(mode_of(UID "/web"), 01777);
	cr_expect_eq(watcher->repaired, 2);
}

Test(shared_tmp, repairs_new_folders)
{
	init();
	make("shop_new", 0755);
	make(UID, 0755);
	settle();
	make(UID "/web", 0755);
	make(UID "/side", 0777);
	settle();
	cr_expect_eq(mode_of("shop_new"), 01777);
	cr_expect_eq(mode_of(UID "/web"), 01777);
	cr_expect_eq(mode_of(UID "/side"), 01777);
	cr_expect_eq(mode_of(UID), 0755);
}

Test(shared_tmp, repairs_again_when_kubelet_sets_the_mode_late)
{
	char path[700];
	init();
	make("shop_late", 0755);
	settle();
	cr_expect_eq(mode_of("shop_late"), 01777);
	snprintf(path, sizeof path, "%s/shop_late", parent);
	cr_assert_eq(chmod(path, 0755), 0);
	settle();
	cr_expect_eq(mode_of("shop_late"), 01777);
}

Test(shared_tmp, touches_nothing_through_links_or_of_others)
{
	char path[700], victim[600];
	fake_path(&proc, victim, "victim");
	cr_assert_eq(mkdir(victim, 0755), 0);
	init();
	snprintf(path, sizeof path, "%s/shop_link", parent);
	cr_assert_eq(symlink(victim, path), 0);
	snprintf(path, sizeof path, "%s/%s", parent, UID);
	cr_assert_eq(symlink("..", path), 0);
	make("shop_users", 0700);
	snprintf(path, sizeof path, "%s/shop_users", parent);
	cr_assert_eq(chown(path, 1000, 1000), 0);
	cr_assert_eq(chmod(path, 0755), 0);
	settle();
	struct stat st;
	cr_assert_eq(stat(victim, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0755);
	cr_expect_eq(mode_of("shop_users"), 0755);
	cr_expect_eq(watcher->repaired, 0);
}

Test(shared_tmp, forgets_pods_that_went)
{
	init();
	for (int i = 0; i < 30; i++) {
		char name[64], path[700];
		snprintf(name, sizeof name, "11111111-2222-3333-4444-%012d", i);
		make(name, 0755);
		settle();
		snprintf(path, sizeof path, "%s/%s", parent, name);
		if (i % 10)
			cr_assert_eq(rmdir(path), 0);
	}
	settle();
	cr_expect_eq(watcher->pod_count, 3, "%zu", watcher->pod_count);
}

Test(shared_tmp, looks_again_after_an_overflow)
{
	char path[700], other[700];
	int limit = 16384;
	AUTO_FILE FILE *f = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
	if (f && fscanf(f, "%d", &limit) != 1)
		limit = 16384;
	init();
	make("a", 01777);
	snprintf(path, sizeof path, "%s/a", parent);
	snprintf(other, sizeof other, "%s/b", parent);
	for (int i = 0; i < limit + 10; i++) {
		cr_assert_eq(rename(i % 2 ? other : path, i % 2 ? path : other), 0);
	}
	make("shop_lost", 0755);
	settle();
	cr_expect_gt(watcher->overflows, 0);
	cr_expect_eq(mode_of("shop_lost"), 01777);
}

static int64_t opened_late(const char *name)
{
	char path[700];
	snprintf(path, sizeof path, "%s/%s", parent, name);
	AUTO_FD int fd = open(path, O_RDONLY | O_DIRECTORY);
	cr_assert_geq(fd, 0);
	return shared_tmp_opened_late(fd);
}

Test(shared_tmp, keeps_in_mind_which_folders_it_has_opened_late)
{
	char path[700];
	int64_t now = time(NULL);
	snprintf(path, sizeof path, "%s/probe", parent);
	make("probe", 0755);
	if (setxattr(path, "user.test", "1", 1, 0) < 0)
		cr_skip_test("no extended attributes here");
	make("shop_blind", 0755);
	make("shop_sticky", 0777);
	make(UID, 0755);
	make(UID "/web", 0750);
	init();
	make("shop_new", 0755);
	settle();
	cr_expect_eq(mode_of("shop_new"), 01777);
	cr_expect_geq(opened_late("shop_blind"), now);
	cr_expect_geq(opened_late(UID "/web"), now);
	cr_expect_eq(opened_late("shop_sticky"), 0, "its user could write there before");
	cr_expect_eq(opened_late("shop_new"), 0, "before its container began");
	snprintf(path, sizeof path, "%s/shop_new", parent);
	cr_assert_eq(setxattr(path, "user.drdotnet.opened", "99999999999", 11, 0), 0);
	cr_expect_eq(opened_late("shop_new"), 0, "in the future");
}

Test(shared_tmp, makes_the_parent_with_its_mode)
{
	char path[700], leftovers[700];
	struct err e = ERR_INIT;
	snprintf(path, sizeof path, "%s/pods", parent);
	umask(077);
	cr_assert_eq(shared_tmp_make(path, &e), 0, "%s", e.message);
	cr_expect_eq(mode_of("pods"), 01777);
	make("pods/shop_cart", 01777);
	cr_assert_eq(chmod(path, 0755), 0);
	cr_assert_eq(shared_tmp_make(path, &e), 0, "%s", e.message);
	cr_expect_eq(mode_of("pods"), 01777, "kubelet may have made it");
	cr_expect_eq(mode_of("pods/shop_cart"), 01777);
	snprintf(leftovers, sizeof leftovers, "%s/none/pods", parent);
	cr_expect_eq(shared_tmp_make(leftovers, &e), -1);
	cr_expect(strstr(e.message, leftovers), "%s", e.message);
}

Test(shared_tmp, says_when_there_is_no_parent)
{
	struct err e = ERR_INIT;
	cr_expect_eq(shared_tmp_init(watcher, "/nowhere/at/all", &e), -1);
	cr_expect_eq(e.kind, ERR_NOT_FOUND);
}

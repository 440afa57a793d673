#include "agent/observe/observe.h"

#include "common/base/clock.h"
#include "tests/unit/agent/host/fake_proc.h"

#include <dirent.h>
#include <pthread.h>

#define UID "0a1b2c3d-1111-2222-3333-444455556666"
#define UID_ "0a1b2c3d_1111_2222_3333_444455556666"
#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2 "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
#define POD "cg/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/"
#define SCOPE POD "cri-containerd-" ID ".scope/"
#define SCOPE2 POD "cri-containerd-" ID2 ".scope/"
#define PATIENCE_MS 20000

/* What was sent, the last state of each observation, under a lock. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t news;
	struct link_observed last[8];
	int messages;
	bool deaf;
} heard = {.lock = PTHREAD_MUTEX_INITIALIZER, .news = PTHREAD_COND_INITIALIZER};

static struct fake_proc proc;
static struct observe *observer;

static int hear(void *ctx, const struct link_msg *m, struct err *e)
{
	(void)ctx;
	pthread_mutex_lock(&heard.lock);
	int rc = heard.deaf ? err_set(e, ERR_RETRY, 0, "deaf") : 0;
	for (size_t i = 0; rc == 0 && i < m->u.observed.count; i++)
		heard.last[m->u.observed.items[i].id[0] - 'a'] = m->u.observed.items[i];
	heard.messages += rc == 0;
	pthread_cond_broadcast(&heard.news);
	pthread_mutex_unlock(&heard.lock);
	return rc;
}

static void setup(void)
{
	char text[1024], path[512];
	fake_proc_init(&proc);
	fake_path(&proc, path, "cg");
	snprintf(text, sizeof text, "41 31 0:38 / %s rw,relatime shared:9 - cgroup2 cgroup2 rw\n", path);
	fake_text(&proc, "self/mountinfo", text);
	fake_text(&proc, SCOPE "memory.stat", "inactive_file 0\n");
	fake_text(&proc, SCOPE "memory.max", "1000\n");
	observer = observe_new(&(struct observe_config){.proc_root = proc.root, .every_ms = 10, .send = hear});
}

static void teardown(void)
{
	observe_free(observer);
	fake_proc_fini(&proc);
}

TestSuite(observe, .init = setup, .fini = teardown, .timeout = 60);

static void ask(const struct link_observation *items, size_t count, int64_t valid_seconds)
{
	struct link_msg m = {.type = LINK_MSG_OBSERVE};
	m.u.observe.items = (struct link_observation *)items;
	m.u.observe.count = count;
	m.u.observe.valid_seconds = valid_seconds;
	observe_set(observer, &m);
}

static struct link_observed last(char id)
{
	pthread_mutex_lock(&heard.lock);
	struct link_observed copy = heard.last[id - 'a'];
	pthread_mutex_unlock(&heard.lock);
	return copy;
}

static void forget(bool deaf)
{
	pthread_mutex_lock(&heard.lock);
	memset(heard.last, 0, sizeof heard.last);
	heard.deaf = deaf;
	pthread_mutex_unlock(&heard.lock);
}

static int messages(void)
{
	pthread_mutex_lock(&heard.lock);
	int count = heard.messages;
	pthread_mutex_unlock(&heard.lock);
	return count;
}

/* Whether this state was heard in time. */
static bool comes(char id, enum link_observed_state state)
{
	int64_t until = clock_mono_ms() + PATIENCE_MS;
	bool hit = false;
	while (!hit && clock_mono_ms() < until) {
		struct link_observed o = last(id);
		hit = o.id[0] && o.state == state;
		if (!hit)
			clock_sleep_until_ms(clock_mono_ms() + 5);
	}
	return hit;
}

static bool threads_become(size_t wanted)
{
	int64_t until = clock_mono_ms() + PATIENCE_MS;
	size_t count = 0;
	do {
		DIR *dir = opendir("/proc/self/task");
		struct dirent *entry;
		count = 0;
		while ((entry = readdir(dir))) {
			char path[300], name[32] = "";
			snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", entry->d_name);
			count += entry->d_name[0] != '.' && fsio_read_small(AT_FDCWD, path, name, sizeof name) > 0 && strcmp(name, "observe") == 0;
		}
		closedir(dir);
	} while (count != wanted && clock_mono_ms() < until);
	return count == wanted;
}

/* At once, as the kernel's files change. */
static void set_file(const char *name, const char *text)
{
	char beside[512], from[1024], to[1024];
	snprintf(beside, sizeof beside, "%s.new", name);
	fake_text(&proc, beside, text);
	fake_path(&proc, from, "%s", beside);
	fake_path(&proc, to, "%s", name);
	cr_assert_eq(rename(from, to), 0);
}

static struct link_observation memory_of(const char *id, const char *container_id)
{
	struct link_observation o = {.pod_uid = UID, .container = "app", .resource = LINK_RESOURCE_MEMORY, .above_percent = 80, .for_seconds = 1};
	snprintf(o.id, sizeof o.id, "%s", id);
	snprintf(o.container_id, sizeof o.container_id, "%s", container_id);
	return o;
}

Test(observe, nothing_is_polled_where_nobody_asks)
{
	struct observe_status s;
	cr_expect(threads_become(0));
	ask(NULL, 0, 60);
	cr_expect(threads_become(0), "an empty set needs no thread");
	struct link_observation a = memory_of("a", ID);
	set_file(SCOPE "memory.current", "1\n");
	ask(&a, 1, 60);
	cr_expect(threads_become(1));
	uint64_t looks = 0;
	for (int64_t until = clock_mono_ms() + PATIENCE_MS; !looks && clock_mono_ms() < until; looks = s.samples)
		observe_get_status(observer, &s);
	cr_expect_gt(looks, 0);
	ask(NULL, 0, 60);
	cr_expect(threads_become(0));
	observe_get_status(observer, &s);
	looks = s.samples;
	clock_sleep_until_ms(clock_mono_ms() + 100);
	observe_get_status(observer, &s);
	cr_expect_eq(s.samples, looks);
	cr_expect_eq(s.count, 0);
	ask(&a, 1, 60);
	cr_expect(threads_become(1), "and it begins again");
}

Test(observe, fires_and_is_normal_again)
{
	struct link_observation items[] = {memory_of("a", ID), memory_of("b", ID)};
	items[1].whole = 4000;
	set_file(SCOPE "memory.current", "900\n");
	ask(items, 2, 60);
	cr_assert(comes('a', LINK_OBSERVED_ABOVE));
	cr_expect_eq(last('a').value, 900);
	cr_expect_eq(last('a').whole, 1000, "the group's own limit");
	cr_expect_str_eq(last('a').pod_uid, UID);
	cr_expect_str_eq(last('a').container, "app");
	cr_expect_eq(last('b').id[0], 0, "22 per cent of what it was told");
	set_file(SCOPE "memory.current", "700\n");
	cr_expect(comes('a', LINK_OBSERVED_NORMAL));
}

Test(observe, what_nobody_takes_is_said_again)
{
	struct link_observation a = memory_of("a", ID);
	set_file(SCOPE "memory.current", "900\n");
	forget(true);
	ask(&a, 1, 60);
	clock_sleep_until_ms(clock_mono_ms() + 1500);
	cr_expect_eq(messages(), 0);
	forget(false);
	cr_expect(comes('a', LINK_OBSERVED_ABOVE));
}

Test(observe, a_new_set_goes_on_and_tells_what_is)
{
	struct link_observation a = memory_of("a", ID);
	set_file(SCOPE "memory.current", "900\n");
	ask(&a, 1, 60);
	cr_assert(comes('a', LINK_OBSERVED_ABOVE));
	int64_t since = last('a').since_wall_ms;
	forget(false);
	ask(&a, 1, 60);
	cr_assert(comes('a', LINK_OBSERVED_ABOVE), "a new leader is told");
	cr_expect_eq(last('a').since_wall_ms, since, "the same episode");
	a.above_percent = 95;
	forget(false);
	ask(&a, 1, 60);
	clock_sleep_until_ms(clock_mono_ms() + 200);
	cr_expect_eq(last('a').id[0], 0, "another question begins anew: Normal, which is not said");
}

Test(observe, a_restarted_container_is_found_by_its_new_id)
{
	struct link_observation a = memory_of("a", ID2);
	set_file(SCOPE "memory.current", "900\n");
	ask(&a, 1, 60);
	cr_assert(comes('a', LINK_OBSERVED_NOT_FOUND));
	set_file(SCOPE2 "memory.stat", "inactive_file 0\n");
	set_file(SCOPE2 "memory.max", "max\n");
	set_file(SCOPE2 "memory.current", "900\n");
	a = memory_of("a", ID);
	ask(&a, 1, 60);
	cr_assert(comes('a', LINK_OBSERVED_ABOVE));
	a = memory_of("a", ID2);
	ask(&a, 1, 60);
	cr_expect(comes('a', LINK_OBSERVED_NO_LIMIT));
	a.whole = 1000;
	ask(&a, 1, 60);
	cr_expect(comes('a', LINK_OBSERVED_ABOVE));
	set_file(POD "memory.max", "2000\n");
	a.whole = 0;
	forget(false);
	ask(&a, 1, 60);
	cr_expect_not(comes('a', LINK_OBSERVED_ABOVE) && last('a').whole != 2000, "the pod's limit stands for the container's");
}

Test(observe, is_forgotten_when_no_leader_asks)
{
	struct link_observation a = memory_of("a", ID);
	set_file(SCOPE "memory.current", "1\n");
	ask(&a, 1, 1);
	cr_expect(threads_become(1));
	cr_expect(threads_become(0));
}

Test(observe, cpu_of_a_quota)
{
	struct link_observation a = memory_of("a", ID);
	a.resource = LINK_RESOURCE_CPU;
	set_file(SCOPE "cpu.max", "20000 100000\n");
	observe_free(observer); /* looks that are further apart, so that a writer who is held up is no break */
	observer = observe_new(&(struct observe_config){.proc_root = proc.root, .every_ms = 300, .send = hear});
	ask(&a, 1, 60);
	for (int64_t until = clock_mono_ms() + PATIENCE_MS; last('a').state != LINK_OBSERVED_ABOVE && clock_mono_ms() < until;) {
		char text[64];
		snprintf(text, sizeof text, "usage_usec %lld\n", (long long)clock_mono_ns() / 1000);
		set_file(SCOPE "cpu.stat", text);
		clock_sleep_until_ms(clock_mono_ms() + 10);
	}
	cr_assert(comes('a', LINK_OBSERVED_ABOVE));
	cr_expect_eq(last('a').whole, 200);
	cr_expect_gt(last('a').value, 160, "about 1000 millicores");
}

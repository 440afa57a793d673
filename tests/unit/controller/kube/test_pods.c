#include "controller/kube/pods.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct pod_info read_pod(const char *text)
{
	struct err e = ERR_INIT;
	AUTO_JSON json_t *doc = jsonx_parse(text, strlen(text), "test", &e);
	cr_assert_not_null(doc, "%s", e.message);
	struct pod_info p;
	pod_info_from_json(doc, &p);
	return p;
}

Test(pods, reads_a_running_pod)
{
	struct pod_info p = read_pod(
		"{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{\"nodeName\":\"n\"},\"status\":{"
		"\"phase\":\"Running\",\"conditions\":[{\"type\":\"Initialized\",\"status\":\"False\"},"
		"{\"type\":\"Ready\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-01T00:00:21Z\"}],"
		"\"containerStatuses\":[{\"name\":\"app\",\"containerID\":\"containerd://ab\","
		"\"state\":{\"running\":{\"startedAt\":\"2026-01-01T00:00:07Z\"}}},"
		"{\"name\":\"old\",\"containerID\":\"containerd://cd\",\"state\":{\"terminated\":{}}},{\"name\":\"new\",\"state\":{\"waiting\":{}}},"
		"{\"name\":\"side\",\"containerID\":\"cri-o://ef\",\"state\":{\"running\":{}}},"
		"{\"name\":\"x\",\"containerID\":\"gh\",\"state\":{\"running\":{}}}]}}");
	cr_expect_str_eq(p.name, "a");
	cr_expect_str_eq(p.node, "n");
	cr_expect_eq(p.created_wall_ms, INT64_C(1767225600000));
	cr_expect(p.running && p.ready && !p.deleting);
	cr_expect_eq(pod_ready_after_ms(&p), 14000);
	p.started_wall_ms = p.ready_wall_ms + 1000;
	cr_expect_eq(pod_ready_after_ms(&p), -1, "of a container before this one");
	p.started_wall_ms = 0;
	cr_expect_eq(pod_ready_after_ms(&p), -1, "not known");
	cr_assert_eq(p.container_count, 2, "those that run");
	cr_expect_str_eq(p.containers[0].name, "app");
	cr_expect_str_eq(p.containers[0].id, "ab");
	cr_expect_str_eq(p.containers[1].id, "ef");
	pod_info_fini(&p);
}

Test(pods, containers_of_all_kinds_are_there)
{
#define RUNS(name, id, at)                                                                                                                  \
	"{\"name\":\"" name "\",\"containerID\":\"containerd://" id "\",\"state\":{\"running\":{\"startedAt\":\"2026-01-01T00:00:" at "Z\"}}}"
	struct pod_info p = read_pod(
		"{\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Running\","
		"\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-01T00:00:21Z\"}],"
		"\"containerStatuses\":[" RUNS("app", "ab", "07") "],"
		"\"initContainerStatuses\":[{\"name\":\"migrate\",\"containerID\":\"containerd://cd\",\"state\":{\"terminated\":{}}},"
		RUNS("sidecar", "ef", "05") "],"
		"\"ephemeralContainerStatuses\":[" RUNS("debug", "gh", "40") "]}}");
	cr_assert_eq(p.container_count, 3);
	cr_expect_str_eq(p.containers[0].name, "app");
	cr_expect_str_eq(p.containers[1].name, "sidecar");
	cr_expect_str_eq(p.containers[2].name, "debug");
	cr_expect_str_eq(p.containers[2].id, "gh");
	cr_expect_eq(pod_ready_after_ms(&p), 14000, "whatever is debugged later");
	pod_info_fini(&p);
	p = read_pod("{\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Pending\",\"initContainerStatuses\":[" RUNS("migrate", "cd", "05") "]}}");
	cr_expect(p.running && !p.ready, "it initialises");
	cr_assert_eq(p.container_count, 1);
	cr_expect_str_eq(p.containers[0].name, "migrate");
	pod_info_fini(&p);
}

#define OWNER(kind, controller) "{\"kind\":\"" kind "\",\"controller\":" controller "}"

Test(pods, states)
{
	static const struct {
		const char *text;
		bool running, ready, deleting, over;
	} rows[] = {
		{"{}", .over = false},
		{"{\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Pending\"}}", .over = false},
		{"{\"status\":{\"phase\":\"Running\"}}", .over = false},
		{"{\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}]}}",
		 .running = true},
		{"{\"metadata\":{\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},"
		 "\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Running\"}}", .running = true, .deleting = true, .over = true},
		{"{\"status\":{\"phase\":\"Succeeded\"}}", .over = true},
		{"{\"status\":{\"phase\":\"Failed\"}}", .over = true},
		{"{\"metadata\":{\"ownerReferences\":[" OWNER("ReplicaSet", "true") "]},\"status\":{\"phase\":\"Failed\"}}", .over = true},
		{"{\"metadata\":{\"ownerReferences\":[" OWNER("Job", "true") "]},\"status\":{\"phase\":\"Failed\"}}", .over = true},
		{"{\"metadata\":{\"ownerReferences\":[" OWNER("StatefulSet", "true") "]},\"status\":{\"phase\":\"Failed\"}}", .over = false},
		{"{\"metadata\":{\"ownerReferences\":[" OWNER("StatefulSet", "false") "]},\"status\":{\"phase\":\"Failed\"}}", .over = true},
		{"{\"metadata\":{\"ownerReferences\":[7," OWNER("ReplicaSet", "false") "," OWNER("StrimziPodSet", "true") "],"
		 "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},\"status\":{\"phase\":\"Failed\"}}", .deleting = true},
		{"{\"spec\":7,\"status\":{\"phase\":[],\"conditions\":{},\"containerStatuses\":7}}", .over = false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct pod_info p = read_pod(rows[i].text);
		cr_expect_eq(p.running, rows[i].running, "row %zu", i);
		cr_expect_eq(p.ready, rows[i].ready, "row %zu", i);
		cr_expect_eq(p.deleting, rows[i].deleting, "row %zu", i);
		cr_expect_eq(p.over, rows[i].over, "row %zu", i);
		cr_expect_eq(p.container_count, 0);
		pod_info_fini(&p);
	}
}

Test(pods, containers_and_their_ids_are_bounded)
{
	char text[16384];
	size_t at = (size_t)snprintf(text, sizeof text, "{\"status\":{\"containerStatuses\":[{\"containerID\":\"x://%0200d\",\"state\":{\"running\":{}}}", 7);
	for (int i = 0; i < LINK_MAX_CONTAINERS + 8; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, ",{\"name\":\"c%d\",\"containerID\":\"containerd://%d\",\"state\":{\"running\":{}}}", i, i);
	snprintf(text + at, sizeof text - at, "]}}");
	struct pod_info p = read_pod(text);
	cr_expect_eq(p.container_count, LINK_MAX_CONTAINERS);
	cr_expect_str_eq(p.containers[0].name, "c0", "an id that no runtime gives is left out");
	pod_info_fini(&p);
}

Test(pods, the_best_stand_first)
{
	struct pod_info items[] = {
		{.name = "no-agent", .load = 900, .created_wall_ms = 9},
		{.name = "b", .linked = true, .load = -1, .created_wall_ms = 5},
		{.name = "a", .linked = true, .load = -1, .created_wall_ms = 5},
		{.name = "new", .linked = true, .load = -1, .created_wall_ms = 6},
		{.name = "idle", .linked = true, .load = 0, .created_wall_ms = 1},
		{.name = "busy", .linked = true, .load = 800, .created_wall_ms = 1},
	};
	static const char *const order[] = {"busy", "idle", "new", "a", "b", "no-agent"};
	struct pod_list l = {.items = items, .count = 6};
	pods_rank(&l);
	for (size_t i = 0; i < 6; i++)
		cr_expect_str_eq(items[i].name, order[i], "place %zu: %s", i, items[i].name);
}

Test(pods, where_all_are_occupied_the_first_that_will_be_free_is_waited_for)
{
	struct pod_info items[] = {
		{.name = "begins", .linked = true, .load = 999, .occupied_by = "leak"},
		{.name = "late", .linked = true, .load = 900, .occupied_by = "leak", .occupied_until_wall_ms = 9000},
		{.name = "soon", .linked = true, .load = 1, .occupied_by = "cpu", .occupied_until_wall_ms = 2000},
		{.name = "soon-and-busy", .linked = true, .load = 2, .occupied_by = "cpu", .occupied_until_wall_ms = 2000},
	};
	static const char *const order[] = {"soon-and-busy", "soon", "late", "begins"};
	struct pod_list l = {.items = items, .count = 4};
	pods_rank(&l);
	for (size_t i = 0; i < 4; i++)
		cr_expect_str_eq(items[i].name, order[i], "place %zu: %s", i, items[i].name);
}

Test(pods, those_that_no_session_occupies_come_first)
{
	struct pod_info items[] = {
		{.name = "busy", .linked = true, .load = 900, .occupied_by = "leak"},
		{.name = "idle", .linked = true, .load = 1},
		{.name = "no-agent", .load = 999},
		{.name = "free", .linked = true, .load = 5},
	};
	static const char *const order[] = {"free", "idle", "busy", "no-agent"};
	struct pod_list l = {.items = items, .count = 4};
	pods_rank(&l);
	for (size_t i = 0; i < 4; i++)
		cr_expect_str_eq(items[i].name, order[i], "place %zu: %s", i, items[i].name);
	cr_expect_eq(pods_take(&l, 1), 1);
	cr_expect_eq(pods_take(&l, 2), 2);
	cr_expect_eq(pods_take(&l, 3), 2, "two at once rather than three in ten minutes");
	cr_expect_eq(pods_take(&l, 20), 2);
	struct pod_list occupied = {.items = &items[2], .count = 1};
	cr_expect_eq(pods_take(&occupied, 3), 1, "where all are occupied it waits for one");
	struct pod_list bare = {.items = (struct pod_info[]){{.linked = true}, {.name = "no-agent"}}, .count = 2};
	cr_expect_eq(pods_take(&bare, 3), 2, "an agent may come");
}

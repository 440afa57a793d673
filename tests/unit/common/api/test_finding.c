#include "common/api/finding.h"

#include "common/base/jsonx.h"

#include <criterion/criterion.h>
#include <string.h>

static struct finding found(const char *id, enum finding_state state)
{
	struct finding f = {.state = state, .score = 77};
	strcpy(f.id, id);
	finding_message(&f, "77%% of CPU in %s", "Shop.Price");
	finding_evidence(&f, "%d of %d samples", 77, 100);
	finding_place(&f, "Shop.Price");
	return f;
}

Test(finding, goes_through_json_and_back)
{
	struct finding list[] = {found("HotMethod", FINDING_FOUND), found("Throttled", FINDING_EXCLUDED), found("Spinning", FINDING_POSSIBLE)};
	struct finding back[FINDINGS_REPORTED];
	AUTO_JSON json_t *array = findings_to_json(list, 3);
	cr_assert_eq(findings_from_json(array, back), 2, "what is excluded is not told");
	cr_assert_str_eq(back[0].message, "77% of CPU in Shop.Price");
	cr_assert_str_eq(back[0].evidence, "77 of 100 samples");
	cr_assert_str_eq(back[1].id, "Spinning");
	cr_assert_eq(back[1].state, FINDING_POSSIBLE);
}

Test(finding, what_others_wrote_is_bounded)
{
	struct finding back[FINDINGS_REPORTED];
	AUTO_JSON json_t *array = json_array();
	for (int i = 0; i < 100; i++)
		json_array_append_new(array, json_pack("{s:s, s:s, s:i, s:s}", "id", "Many", "state", "Found", "score", 5, "message", "x"));
	cr_assert_eq(findings_from_json(array, back), FINDINGS_REPORTED);
	json_array_clear(array);
	json_array_append_new(array, json_integer(4));
	json_array_append_new(array, json_pack("{s:s, s:s, s:i}", "id", "no name", "state", "Found", "score", 5));
	json_array_append_new(array, json_pack("{s:s, s:s, s:i}", "id", "Newer", "state", "Certain", "score", 5));
	json_array_append_new(array, json_pack("{s:s, s:s, s:i}", "id", "Wild", "state", "Found", "score", 500));
	cr_assert_eq(findings_from_json(array, back), 0);
	cr_assert_eq(findings_from_json(NULL, back), 0);
}

Test(finding, names_are_cut_between_characters)
{
	struct finding f = found("HotMethod", FINDING_FOUND);
	char name[2 * FINDING_PLACE_SIZE + 2] = "";
	for (int i = 0; i < FINDING_PLACE_SIZE; i++)
		strcat(name, "\xc3\xa9");
	finding_place(&f, name);
	cr_assert_eq(strlen(f.place), FINDING_PLACE_SIZE - 1);
}

Test(finding, evidence_grows_within_its_bounds)
{
	struct finding f = {0};
	finding_evidence_also(&f, "%d of %d", 3, 4);
	cr_expect_str_eq(f.evidence, "3 of 4");
	finding_evidence_also(&f, "more");
	cr_expect_str_eq(f.evidence, "3 of 4; more");
	for (int i = 0; i < 100; i++)
		finding_evidence_also(&f, "more");
	cr_expect_eq(strlen(f.evidence), sizeof f.evidence - 1);
}

/* Users' own rules have a prefix. */
Test(finding, ids_are_words_or_users_words)
{
	static const struct {
		const char *id;
		size_t count;
	} ids[] = {{"RetryStorm", 1}, {"user/SlowCache", 1}, {"user/", 0}, {"team/SlowCache", 0}, {"user/a/b", 0}, {"Slow Cache", 0}, {"", 0}};
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		struct finding list[FINDINGS_REPORTED];
		json_t *array = json_pack("[{s:s, s:s, s:i}]", "id", ids[i].id, "state", "Found", "score", 5);
		cr_expect_eq(findings_from_json(array, list), ids[i].count, "%s", ids[i].id);
		json_decref(array);
	}
}

#include "common/base/json_writer.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>

Test(json_writer, commas_and_braces_are_its_own)
{
	AUTO_BUF struct buf text;
	buf_init(&text, 4096);
	struct json_writer w = jsonw_on(&text);
	jsonw_object(&w, NULL);
	jsonw_integer(&w, "first", -1);
	jsonw_unsigned(&w, "most", UINT64_MAX);
	jsonw_array(&w, "empty");
	jsonw_end(&w);
	jsonw_line(&w);
	jsonw_array(&w, "list");
	jsonw_unsigned(&w, NULL, 0);
	jsonw_line(&w);
	jsonw_object(&w, NULL);
	jsonw_bool(&w, "yes", true);
	jsonw_end(&w);
	jsonw_null(&w, NULL);
	jsonw_end(&w);
	jsonw_number(&w, "share", 33.333, 2);
	jsonw_end(&w);
	cr_expect_str_eq(buf_str(&text), "{\"first\":-1,\"most\":18446744073709551615,\"empty\":[],\n\"list\":[0,\n{\"yes\":true},null],\"share\":33.33}");
}

Test(json_writer, what_is_not_known_is_null)
{
	AUTO_BUF struct buf text;
	buf_init(&text, 4096);
	struct json_writer w = jsonw_on(&text);
	jsonw_array(&w, NULL);
	jsonw_known(&w, NULL, -1);
	jsonw_known(&w, NULL, 0);
	jsonw_string(&w, NULL, NULL);
	jsonw_number(&w, NULL, NAN, 1);
	jsonw_number(&w, NULL, INFINITY, 1);
	jsonw_end(&w);
	cr_expect_str_eq(buf_str(&text), "[null,0,null,null,null]");
}

Test(json_writer, any_bytes_are_a_string)
{
	AUTO_BUF struct buf text;
	buf_init(&text, 65536);
	struct json_writer w = jsonw_on(&text);
	char all[256];
	for (int i = 0; i < 256; i++)
		all[i] = (char)i;
	jsonw_array(&w, NULL);
	jsonw_text(&w, NULL, all, sizeof all);
	jsonw_end(&w);
	json_t *read = json_loadb(text.data, text.len, JSON_ALLOW_NUL, NULL);
	cr_assert(read);
	cr_expect(json_is_string(json_array_get(read, 0)));
	json_decref(read);
}

Test(json_writer, goes_on_when_what_is_written_has_flown_on)
{
	AUTO_BUF struct buf text;
	buf_init(&text, 4096);
	struct json_writer w = jsonw_on(&text);
	jsonw_array(&w, NULL);
	jsonw_integer(&w, NULL, 1);
	buf_reset(&text);
	jsonw_integer(&w, NULL, 2);
	jsonw_end(&w);
	cr_expect_str_eq(buf_str(&text), ",2]");
}

Test(json_writer, a_buffer_that_is_full_says_so)
{
	AUTO_BUF struct buf text;
	buf_init(&text, 4);
	struct json_writer w = jsonw_on(&text);
	jsonw_array(&w, NULL);
	jsonw_string(&w, NULL, "longer than that");
	cr_expect(text.full);
}

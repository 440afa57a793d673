#include "common/base/json_writer.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>

Test(json_writer, commas_and_braces_are_its_own)
{
	AUTO_BUF struct buf text;
	buf_init(&text, 4096);
	struct json_writer w = json_writer_on(&text);
	json_object(&w, NULL);
	json_integer(&w, "first", -1);
	json_unsigned(&w, "most", UINT64_MAX);
	json_array(&w, "empty");
	json_end(&w);
	json_line(&w);
	json_array(&w, "list");
	json_unsigned(&w, NULL, 0);
	json_line(&w);
	json_object(&w, NULL);
	json_bool(&w, "yes", true);
	json_end(&w);
	json_null(&w, NULL);
	json_end(&w);
	json_number(&w, "share", 33.333, 2);
	json_end(&w);
	cr_expect_str_eq(buf_str(&text), "{\"first\":-1,\"most\":18446744073709551615,\"empty\":[],\n\"list\":[0,\n{\"yes\":true},null],\"share\":33.33}");
}

Test(json_writer, what_is_not_known_is_null)
{
	AUTO_BUF struct buf text;
	buf_init(&text, 4096);
	struct json_writer w = json_writer_on(&text);
	json_array(&w, NULL);
	json_known(&w, NULL, -1);
	json_known(&w, NULL, 0);
	json_string(&w, NULL, NULL);
	json_number(&w, NULL, NAN, 1);
	json_number(&w, NULL, INFINITY, 1);
	json_end(&w);
	cr_expect_str_eq(buf_str(&text), "[null,0,null,null,null]");
}

Test(json_writer, any_bytes_are_a_string)
{
	AUTO_BUF struct buf text;
	buf_init(&text, 65536);
	struct json_writer w = json_writer_on(&text);
	char all[256];
	for (int i = 0; i < 256; i++)
		all[i] = (char)i;
	json_array(&w, NULL);
	json_text(&w, NULL, all, sizeof all);
	json_end(&w);
	json_t *read = json_loadb(text.data, text.len, 0, NULL);
	cr_assert(read);
	cr_expect(json_is_string(json_array_get(read, 0)));
	json_decref(read);
}

Test(json_writer, goes_on_when_what_is_written_has_flown_on)
{
	AUTO_BUF struct buf text;
	buf_init(&text, 4096);
	struct json_writer w = json_writer_on(&text);
	json_array(&w, NULL);
	json_integer(&w, NULL, 1);
	buf_reset(&text);
	json_integer(&w, NULL, 2);
	json_end(&w);
	cr_expect_str_eq(buf_str(&text), ",2]");
}

Test(json_writer, a_buffer_that_is_full_says_so)
{
	AUTO_BUF struct buf text;
	buf_init(&text, 4);
	struct json_writer w = json_writer_on(&text);
	json_array(&w, NULL);
	json_string(&w, NULL, "longer than that");
	cr_expect(text.full);
}

#include "agent/diag/diag_codec.h"
#include "agent/diag/diag_socket.h"
#include "common/api/reason.h"
#include "tests/unit/agent/host/fake_proc.h"

static const struct {
	const char *name;
	bool ok;
	pid_t pid;
	uint64_t key;
} names[] = {
	{"dotnet-diagnostic-1-937086-socket", true, 1, 937086},
	{"dotnet-diagnostic-2147483647-18446744073709551615-socket", true, 2147483647, UINT64_MAX},
	{"dotnet-diagnostic-2147483648-1-socket", false, 0, 0},
	{"dotnet-diagnostic-1-18446744073709551616-socket", false, 0, 0},
	{"dotnet-diagnostic-0-1-socket", false, 0, 0},
	{"dotnet-diagnostic--1-1-socket", false, 0, 0},
	{"dotnet-diagnostic-1-1-socket2", false, 0, 0},
	{"dotnet-diagnostic-1-socket", false, 0, 0},
	{"dotnet-diagnostic-1--socket", false, 0, 0},
	{"dotnet-diagnostic-", false, 0, 0},
	{"clr-debug-pipe-1-1-in", false, 0, 0},
	{"", false, 0, 0},
};

Test(diag_codec, reads_socket_names)
{
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct diag_socket_name n = {0};
		cr_expect_eq(diag_socket_parse_name(names[i].name, &n), names[i].ok, "%s", names[i].name);
		if (names[i].ok) {
			cr_expect_eq(n.inner_pid, names[i].pid);
			cr_expect_eq(n.key, names[i].key);
		}
	}
}

Test(diag_codec, writes_the_documented_header)
{
	uint8_t h[DIAG_HEADER_SIZE];
	struct diag_header got;
	struct err e = ERR_INIT;
	diag_encode_header(h, 0x1234, 0x03, 0x01);
	cr_expect_arr_eq(h, "DOTNET_IPC_V1\0\x34\x12\x03\x01\0\0", DIAG_HEADER_SIZE);
	cr_assert_eq(diag_decode_header(h, &got, &e), 0);
	cr_expect_eq(got.size, 0x1234);
	cr_expect_eq(got.set, 3);
	cr_expect_eq(got.command, 1);
	h[12] = '2';
	cr_expect_eq(diag_decode_header(h, &got, &e), -1);
	cr_expect_eq(e.kind, ERR_PROTOCOL);
	for (uint16_t size = 19; size <= 21; size++) {
		diag_encode_header(h, size, 0xFF, 0);
		cr_expect_eq(diag_decode_header(h, &got, &e), size < 20 ? -1 : 0, "%u", size);
	}
}

Test(diag_codec, reads_who_waits_at_a_port)
{
	uint8_t advert[DIAG_ADVERT_SIZE] = "ADVR_V1";

	advert[24] = 0x39;
	advert[25] = 0x30;
	cr_expect_eq(diag_decode_advert(advert), 12345u);
	advert[6] = '2';
	cr_expect_eq(diag_decode_advert(advert), 0u);
}

Test(diag_codec, writes_an_attach_message)
{
	static const uint8_t clsid[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
	static const uint8_t data[3] = {0xAA, 0, 0xBB};
	static const uint8_t expected[] = {
		'D', 'O', 'T', 'N', 'E', 'T', '_', 'I', 'P', 'C', '_', 'V', '1', 0, 63, 0, 3, 1, 0, 0,
		0xE8, 3, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
		6, 0, 0, 0, '/', 0, 0xE9, 0, 0x3D, 0xD8, 0, 0xDE, 'x', 0, 0, 0,
		3, 0, 0, 0, 0xAA, 0, 0xBB};
	AUTO_BUF struct buf out;
	buf_init(&out, DIAG_MESSAGE_MAX);
	struct err e = ERR_INIT;
	cr_assert_eq(diag_encode_attach(&out, 1000, clsid, "/\xC3\xA9\xF0\x9F\x98\x80x", data, sizeof data, &e), 0, "%s", e.message);
	cr_assert_eq(out.len, sizeof expected);
	cr_expect_arr_eq(out.data, expected, sizeof expected);
}

Test(diag_codec, refuses_what_does_not_fit_an_attach_message)
{
	static const uint8_t clsid[16];
	static uint8_t data[DIAG_MESSAGE_MAX];
	const size_t fixed = 20 + 4 + 16 + 4 + 2 * 3 + 4; /* with the path "/x" */
	for (size_t extra = DIAG_MESSAGE_MAX - fixed - 1; extra <= DIAG_MESSAGE_MAX - fixed + 1; extra++) {
		AUTO_BUF struct buf out;
		buf_init(&out, DIAG_MESSAGE_MAX + 10);
		struct err e = ERR_INIT;
		int r = diag_encode_attach(&out, 1, clsid, "/x", data, extra, &e);
		cr_expect_eq(r, extra <= DIAG_MESSAGE_MAX - fixed ? 0 : -1, "%zu", extra);
	}
	AUTO_BUF struct buf out;
	buf_init(&out, DIAG_MESSAGE_MAX);
	struct err e = ERR_INIT;
	cr_expect_eq(diag_encode_attach(&out, 1, clsid, "/\xFF", data, 0, &e), -1);
	cr_expect_eq(e.kind, ERR_INVALID);
}

Test(diag_codec, reads_process_information_of_any_length)
{
	AUTO_BUF struct buf reply;
	buf_init(&reply, DIAG_MESSAGE_MAX);
	fake_info_reply(&reply, true, 77, "9.0.1+x");
	const uint8_t *payload = (const uint8_t *)reply.data + DIAG_HEADER_SIZE;
	size_t whole = reply.len - DIAG_HEADER_SIZE;
	for (size_t len = 0; len <= whole; len++) {
		struct diag_process_info info = {0};
		struct err e = ERR_INIT;
		AUTO_FREE uint8_t *exact = malloc(len + 1); /* so that ASan sees a read past the end */
		memcpy(exact + 1, payload, len);
		int r = diag_decode_process_info(DIAG_PROCESS_INFO3, exact + 1, len, &info, &e);
		cr_expect_eq(r, len == whole ? 0 : -1, "%zu of %zu", len, whole);
		if (r < 0) {
			cr_expect_eq(e.kind, ERR_PROTOCOL);
			continue;
		}
		cr_expect_eq(info.pid, 77);
		cr_expect_str_eq(info.entrypoint, "Shop");
		cr_expect_str_eq(info.runtime_version, "9.0.1+x");
		cr_expect_str_eq(info.rid, "linux-x64");
		diag_process_info_fini(&info);
	}
}

static const struct {
	const char *units;
	uint32_t count;
	const char *text;
} strings[] = {
	{"a\0b\0\0\0", 3, "ab"},
	{"a\0b\0", 2, "ab"},
	{"a\0\0\0b\0", 3, "a"},
	{"\xE9\0\0\0", 2, "\xC3\xA9"},
	{"\xAC\x20\0\0", 2, "\xE2\x82\xAC"},
	{"\x3D\xD8\0\xDE\0\0", 3, "\xF0\x9F\x98\x80"},
	{"\x3D\xD8" "x\0\0\0", 3, "\xEF\xBF\xBDx"},
	{"\x3D\xD8", 1, "\xEF\xBF\xBD"},
	{"\0\xDE\0\0", 2, "\xEF\xBF\xBD"},
	{"", 0, ""},
};

Test(diag_codec, turns_utf16_into_utf8)
{
	for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++) {
		AUTO_BUF struct buf payload;
		buf_init(&payload, 4096);
		char head[24] = {0};
		buf_append(&payload, head, sizeof head);
		buf_append(&payload, &strings[i].count, 4);
		buf_append(&payload, strings[i].units, strings[i].count * 2);
		for (int rest = 0; rest < 4; rest++)
			buf_append(&payload, head, 4);
		struct diag_process_info info = {0};
		struct err e = ERR_INIT;
		cr_assert_eq(diag_decode_process_info(DIAG_PROCESS_INFO2, (uint8_t *)payload.data, payload.len, &info, &e), 0, "row %zu: %s", i, e.message);
		cr_expect_str_eq(info.command_line, strings[i].text, "row %zu: '%s'", i, info.command_line);
		cr_expect_str_eq(info.runtime_version, "");
		cr_expect_null(info.rid);
		diag_process_info_fini(&info);
	}
}

Test(diag_codec, gives_refusals_their_reason)
{
	static const struct {
		uint32_t hresult;
		enum err_kind kind;
		const char *reason, *words;
	} rows[] = {
		{0x8013136Au, ERR_CONFLICT, "ProfilerAlreadyActive", "another profiler"},
		{0x80131515u, ERR_INVALID, "DiagnosticsDisabled", "switched off"},
		{0x80131385u, ERR_INVALID, "RuntimeTooOld", "does not know"},
		{0x8013135Bu, ERR_INVALID, "ProcessSuspended", "waits at its start"}, /* measured on 10.0.12 */
		{0x80131379u, ERR_RETRY, "AttachFailed", "start the session again, and where it fails each time raise the CPU limit"},
		{0x8007000Bu, ERR_RETRY, "AttachFailed", "no more threads"}, /* EAGAIN: of the library's thread */
		{0x80070018u, ERR_RETRY, "AttachFailed", "no more descriptors"}, /* EMFILE: of its socket or its event */
		{0x80004005u, ERR_INTERNAL, "AttachFailed", "refused (0x80004005)"},
		{0xFFFFFFFFu, ERR_INTERNAL, "AttachFailed", "refused (0xFFFFFFFF)"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct err e = ERR_INIT;
		cr_expect_eq(diag_refusal(&e, "attach", rows[i].hresult), -1);
		cr_expect_eq(e.kind, rows[i].kind);
		cr_expect_str_eq(e.reason, rows[i].reason);
		cr_expect(strstr(e.message, rows[i].words), "row %zu: %s", i, e.message);
		cr_expect_eq((uint32_t)e.code, rows[i].hresult);
		cr_expect_eq(diag_refusal(NULL, "attach", rows[i].hresult), -1);
	}
	cr_expect_eq(diag_decode_hresult((const uint8_t *)"\x6A\x13\x13\x80", 4), 0x8013136Au);
	cr_expect_eq(diag_decode_hresult((const uint8_t *)"\x6A\x13\x13", 3), 0x80004005u);
}

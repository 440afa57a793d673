/* Replies of a diagnostics port, and the names of its socket: all of it is the pod's word. */
#include "agent/diag/diag_codec.h"
#include "agent/diag/diag_environment.h"
#include "agent/diag/diag_socket.h"
#include "common/base/text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *s)
{
	if (!s)
		abort();
	for (size_t left = strlen(s); left > 0;) {
		uint32_t c;
		size_t used = text_decode_utf8(s, left, &c);
		if (c == 0xFFFD && used == 1)
			abort(); /* not UTF-8 */
		s += used;
		left -= used;
	}
}

static void decode(enum diag_command command, const uint8_t *data, size_t size)
{
	struct diag_process_info info;
	struct err e = ERR_INIT;
	if (diag_decode_process_info(command, data, size, &info, &e) < 0) {
		if (e.kind != ERR_PROTOCOL)
			abort();
		return;
	}
	check_text(info.command_line);
	check_text(info.os);
	check_text(info.arch);
	check_text(info.entrypoint);
	check_text(info.runtime_version);
	if ((info.rid != NULL) != (command == DIAG_PROCESS_INFO3))
		abort();
	diag_process_info_fini(&info);
}

/* 1: a whole block; 0: bytes are missing; -1: malformed. */
static int read_environment(struct diag_environment *x, const uint8_t *data, size_t size, uint32_t announced, size_t piece)
{
	if (diag_environment_init(x, announced, NULL) < 0)
		return -1;
	for (size_t at = 0; at < size; at += piece) {
		size_t n = size - at < piece ? size - at : piece;
		uint8_t *copy = malloc(n); /* nothing behind it */
		memcpy(copy, data + at, n);
		int r = diag_environment_feed(x, copy, n, NULL);
		free(copy);
		if (r < 0)
			return -1;
	}
	return x->missing == 0;
}

/* However the block is cut into pieces, the same comes of it. */
static void environment(const uint8_t *data, size_t size)
{
	struct diag_environment whole, pieces;
	for (uint32_t more = 0; more < 2; more++) {
		int a = read_environment(&whole, data, size, (uint32_t)size + more, size ? size : 1);
		int b = read_environment(&pieces, data, size, (uint32_t)size + more, 1 + size % 7);
		if (a != b || (a == 1 && more))
			abort();
		if (a == 1 && (whole.kept.len != pieces.kept.len || (whole.kept.len && memcmp(whole.kept.data, pieces.kept.data, whole.kept.len) != 0)))
			abort();
		if (whole.kept.len > DIAG_ENVIRONMENT_KEPT_MAX || (whole.kept.len && whole.kept.data[whole.kept.len - 1] != '\0'))
			abort();
		diag_environment_fini(&whole);
		diag_environment_fini(&pieces);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct diag_header header;
	struct diag_socket_name name;
	if (size >= DIAG_HEADER_SIZE && diag_decode_header(data, &header, NULL) == 0 && header.size < DIAG_HEADER_SIZE)
		abort();
	if (size >= DIAG_ADVERT_SIZE && diag_decode_advert(data) && memcmp(data, "ADVR_V1", 8) != 0)
		abort();
	decode(DIAG_PROCESS_INFO2, data, size);
	decode(DIAG_PROCESS_INFO3, data, size);
	diag_decode_hresult(data, size);
	environment(data, size);
	char *text = malloc(size + 1);
	memcpy(text, data, size);
	text[size] = '\0';
	if (diag_socket_parse_name(text, &name) && name.inner_pid <= 0)
		abort();
	struct buf out;
	static const uint8_t clsid[16];
	buf_init(&out, DIAG_MESSAGE_MAX);
	if (diag_encode_attach(&out, 1, clsid, text, data, size, NULL) == 0 &&
	    (diag_decode_header((const uint8_t *)out.data, &header, NULL) < 0 || header.size != out.len))
		abort();
	buf_fini(&out);
	free(text);
	return 0;
}

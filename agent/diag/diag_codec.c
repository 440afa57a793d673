#include "agent/diag/diag_codec.h"

#include "common/api/reason.h"
#include "common/base/mem.h"
#include "common/base/text.h"
#include "common/proto/wire.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t magic[14] = "DOTNET_IPC_V1";

void diag_process_info_fini(struct diag_process_info *i)
{
	if (!i)
		return;
	free(i->command_line);
	free(i->os);
	free(i->arch);
	free(i->entrypoint);
	free(i->runtime_version);
	free(i->rid);
	memset(i, 0, sizeof *i);
}

void diag_encode_header(uint8_t out[DIAG_HEADER_SIZE], uint16_t size, uint8_t set, uint8_t command)
{
	struct wire_writer w;
	wire_writer_init(&w, out, DIAG_HEADER_SIZE);
	wire_put_bytes(&w, magic, sizeof magic);
	wire_put_u16(&w, size);
	wire_put_u8(&w, set);
	wire_put_u8(&w, command);
	wire_put_u16(&w, 0);
}

int diag_decode_header(const uint8_t in[DIAG_HEADER_SIZE], struct diag_header *out, struct err *e)
{
	struct wire_reader r;
	wire_reader_init(&r, in, DIAG_HEADER_SIZE);
	const uint8_t *got = wire_bytes(&r, sizeof magic);
	if (!got || memcmp(got, magic, sizeof magic) != 0)
		return err_set(e, ERR_PROTOCOL, 0, "the diagnostics port did not answer in its protocol (wrong magic)");
	out->size = wire_u16(&r);
	out->set = wire_u8(&r);
	out->command = wire_u8(&r);
	if (out->size < DIAG_HEADER_SIZE)
		return err_set(e, ERR_PROTOCOL, 0, "the diagnostics port announced a message of %u bytes", out->size);
	return 0;
}

uint64_t diag_decode_advert(const uint8_t in[DIAG_ADVERT_SIZE])
{
	static const char advert[8] = "ADVR_V1";
	struct wire_reader r;

	wire_reader_init(&r, in, DIAG_ADVERT_SIZE);
	const uint8_t *got = wire_bytes(&r, sizeof advert);
	if (!got || memcmp(got, advert, sizeof advert) != 0)
		return 0;
	wire_bytes(&r, 16);
	return wire_u64(&r);
}

static int append_u32(struct buf *out, uint32_t v)
{
	uint8_t bytes[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)};
	return buf_append(out, bytes, sizeof bytes);
}

static int append_unit(struct buf *out, uint32_t unit)
{
	uint8_t bytes[2] = {(uint8_t)unit, (uint8_t)(unit >> 8)};
	return buf_append(out, bytes, sizeof bytes);
}

/* Appends `s` as the protocol's string. -1 when it is not UTF-8 or does not fit. */
static int append_string(struct buf *out, const char *s)
{
	size_t count_at = out->len, left = strlen(s);
	uint32_t units = 1;
	if (append_u32(out, 0) < 0)
		return -1;
	while (left > 0) {
		uint32_t c;
		size_t used = text_decode_utf8(s, left, &c);
		if (c == 0xFFFD && used == 1)
			return -1;
		if (c >= 0x10000) {
			append_unit(out, 0xD800 + ((c - 0x10000) >> 10));
			c = 0xDC00 + ((c - 0x10000) & 0x3FF);
			units++;
		}
		append_unit(out, c);
		units++;
		s += used;
		left -= used;
	}
	append_unit(out, 0);
	if (out->full)
		return -1;
	for (int i = 0; i < 4; i++)
		out->data[count_at + (size_t)i] = (char)(units >> (8 * i));
	return 0;
}

int diag_encode_attach(struct buf *out, uint32_t timeout_ms, const uint8_t clsid[16], const char *library_path,
		       const uint8_t *client_data, size_t client_len, struct err *e)
{
	uint8_t header[DIAG_HEADER_SIZE] = {0};
	size_t start = out->len;
	buf_append(out, header, sizeof header);
	append_u32(out, timeout_ms);
	buf_append(out, clsid, 16);
	int bad_path = append_string(out, library_path);
	append_u32(out, (uint32_t)client_len);
	buf_append(out, client_data, client_len);
	size_t size = out->len - start;
	if (bad_path < 0 || out->full || size > DIAG_MESSAGE_MAX || client_len > DIAG_MESSAGE_MAX)
		return err_set(e, ERR_INVALID, 0, "the library's path or its data do not fit into an attach message");
	diag_encode_header((uint8_t *)out->data + start, (uint16_t)size, DIAG_SET_PROFILER, DIAG_PROFILER_ATTACH);
	return 0;
}

static void append_utf8(struct buf *out, uint32_t c)
{
	if (c < 0x80) {
		buf_putc(out, (char)c);
	} else if (c < 0x800) {
		buf_putc(out, (char)(0xC0 | c >> 6));
		buf_putc(out, (char)(0x80 | (c & 0x3F)));
	} else if (c < 0x10000) {
		buf_putc(out, (char)(0xE0 | c >> 12));
		buf_putc(out, (char)(0x80 | (c >> 6 & 0x3F)));
		buf_putc(out, (char)(0x80 | (c & 0x3F)));
	} else {
		buf_putc(out, (char)(0xF0 | c >> 18));
		buf_putc(out, (char)(0x80 | (c >> 12 & 0x3F)));
		buf_putc(out, (char)(0x80 | (c >> 6 & 0x3F)));
		buf_putc(out, (char)(0x80 | (c & 0x3F)));
	}
}

/* A string as UTF-8 (never NULL), up to its first NUL; lone surrogates become U+FFFD. NULL when the bytes end early. */
static char *read_string(struct wire_reader *r)
{
	uint32_t units = wire_u32(r);
	if (r->bad || units > wire_left(r) / 2) {
		r->bad = true;
		return NULL;
	}
	AUTO_BUF struct buf text;
	buf_init(&text, (size_t)units * 3 + 1);
	uint32_t high = 0;
	bool ended = false;
	for (uint32_t i = 0; i < units; i++) {
		uint32_t u = wire_u16(r);
		if (ended || u == 0) {
			ended = true;
			continue;
		}
		bool is_high = u >= 0xD800 && u < 0xDC00, is_low = u >= 0xDC00 && u < 0xE000;
		if (high && is_low)
			append_utf8(&text, 0x10000 + ((high - 0xD800) << 10) + (u - 0xDC00));
		else if (high)
			append_utf8(&text, 0xFFFD);
		if (!is_high && !is_low)
			append_utf8(&text, u);
		else if (is_low && !high)
			append_utf8(&text, 0xFFFD);
		high = is_high ? u : 0;
	}
	if (high)
		append_utf8(&text, 0xFFFD);
	return buf_steal(&text);
}

int diag_decode_process_info(enum diag_command command, const uint8_t *payload, size_t len, struct diag_process_info *out,
			     struct err *e)
{
	struct diag_process_info info = {0};
	struct wire_reader r;
	wire_reader_init(&r, payload, len);
	if (command == DIAG_PROCESS_INFO3)
		wire_u32(&r); /* version of the layout: later ones only append */
	info.pid = (int64_t)wire_u64(&r);
	wire_bytes(&r, 16); /* runtime cookie */
	info.command_line = read_string(&r);
	info.os = read_string(&r);
	info.arch = read_string(&r);
	info.entrypoint = read_string(&r);
	info.runtime_version = read_string(&r);
	if (command == DIAG_PROCESS_INFO3)
		info.rid = read_string(&r);
	if (r.bad) {
		diag_process_info_fini(&info);
		return err_set(e, ERR_PROTOCOL, 0, "the runtime's description of its process ends early (%zu bytes)", len);
	}
	*out = info;
	return 0;
}

int diag_decode_environment_size(const uint8_t *payload, size_t len, uint32_t *out, struct err *e)
{
	struct wire_reader r;
	wire_reader_init(&r, payload, len);
	uint32_t size = wire_u32(&r);
	wire_u16(&r);
	if (r.bad)
		return err_set(e, ERR_PROTOCOL, 0, "the runtime's word of its environment ends early (%zu bytes)", len);
	*out = size;
	return 0;
}

uint32_t diag_decode_hresult(const uint8_t *payload, size_t len)
{
	struct wire_reader r;
	wire_reader_init(&r, payload, len);
	uint32_t v = wire_u32(&r);
	return r.bad ? 0x80004005u : v;
}

int diag_refusal(struct err *e, const char *what, uint32_t hresult)
{
	static const struct {
		uint32_t hresult;
		enum err_kind kind;
		const char *reason;
		const char *text;
	} known[] = {
		{0x8013136Au, ERR_CONFLICT, REASON_ProfilerAlreadyActive, "another profiler is active in the process"},
		{DIAG_E_NOT_SUPPORTED, ERR_INVALID, REASON_DiagnosticsDisabled, "the runtime does not support it or has it switched off"},
		{DIAG_E_UNKNOWN_COMMAND, ERR_INVALID, REASON_RuntimeTooOld, "the runtime does not know the command"},
		{0x8013135Bu, ERR_INVALID, REASON_ProcessSuspended, "the runtime waits at its start to be resumed"},
		{0x80131379u, ERR_RETRY, REASON_AttachFailed,
		 "a garbage collection in the background did not end in time, which the runtime waits for before it lets a heap session in; start the "
		 "session again, and where it fails each time raise the CPU limit, or pick a quieter pod"},
		{0x8007000Bu, ERR_RETRY, REASON_AttachFailed, "the process may make no more threads; see its pids.max and RLIMIT_NPROC"},
		{0x80070018u, ERR_RETRY, REASON_AttachFailed, "the process may open no more descriptors; see its RLIMIT_NOFILE"},
		{0x8007007Eu, ERR_INTERNAL, REASON_AttachFailed, "the library could not be loaded"},
	};
	const char *reason = REASON_AttachFailed, *text = "the runtime refused";
	enum err_kind kind = ERR_INTERNAL;
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		if (known[i].hresult == hresult) {
			kind = known[i].kind;
			reason = known[i].reason;
			text = known[i].text;
		}
	}
	err_set_reason(e, kind, reason, "%s: %s (0x%08X)", what, text, (unsigned)hresult);
	if (e)
		e->code = (int)hresult;
	return -1;
}

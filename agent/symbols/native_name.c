#include "agent/symbols/native_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* _ZN [K] (<length> <name>)+ ...: nested names and plain _Z<length><name>; constructors and templates end the reading.
 * -1 when nothing was understood (*out is then as before). */
static int append_mangled(const char *s, size_t len, struct buf *out)
{
	size_t i = 2, parts = 0;
	if (i < len && s[i] == 'N')
		i++;
	while (i < len && strchr("KVrL", s[i]))
		i++;
	while (i < len && isdigit((unsigned char)s[i])) {
		size_t n = 0;
		while (i < len && isdigit((unsigned char)s[i]) && n < 10000)
			n = n * 10 + (size_t)(s[i++] - '0');
		if (n == 0 || n > len - i)
			break;
		if (parts++)
			buf_puts(out, "::");
		buf_append(out, s + i, n);
		i += n;
	}
	return parts ? 0 : -1;
}

static bool symbol_starts_with(const char *s, size_t len, const char *with)
{
	size_t n = strlen(with);
	return len >= n && memcmp(s, with, n) == 0;
}

/* The length of "operator<<" and its like at s; 0 when there is none. */
static size_t operator_length(const char *s, size_t len)
{
	if (!symbol_starts_with(s, len, "operator") || (len > 8 && (isalnum((unsigned char)s[8]) || s[8] == '_')))
		return 0;
	size_t n = 8;
	if (symbol_starts_with(s + n, len - n, "()") || symbol_starts_with(s + n, len - n, "[]"))
		return n + 2;
	while (n < len && strchr("+-*/%^&|~!=<>,", s[n]))
		n++;
	return n;
}

/* The length without what compilers append to the copies that they make: ".isra.0", ".constprop.0", ".cold". */
static size_t without_clone(const char *s, size_t len)
{
	static const char *const words[] = {".isra", ".constprop", ".part", ".cold", ".llvm", ".lto_priv", ".localalias"};
	for (size_t i = 1; i < len; i++)
		for (size_t k = 0; s[i] == '.' && k < sizeof words / sizeof words[0]; k++) {
			size_t n = strlen(words[k]);
			if (symbol_starts_with(s + i, len - i, words[k]) && (i + n == len || s[i + n] == '.'))
				return i;
		}
	return len;
}

void native_name_append(const char *symbol, size_t len, struct buf *out)
{
	static const char anonymous[] = "(anonymous namespace)";
	len = without_clone(symbol, len);
	if (symbol_starts_with(symbol, len, "_Z") && append_mangled(symbol, len, out) == 0)
		return;
	size_t begin = out->len, depth = 0;
	for (size_t i = 0; i < len; i++) {
		const char *p = symbol + i;
		size_t word = depth == 0 ? operator_length(p, len - i) : 0;
		if (word == 0 && depth == 0 && symbol_starts_with(p, len - i, anonymous))
			word = sizeof anonymous - 1;
		if (word) {
			buf_append(out, p, word);
			i += word - 1;
		} else if (*p == '(' && depth == 0) {
			break; /* parameters, and what follows them */
		} else if (*p == '<' && (i > 0 || depth)) {
			depth++;
		} else if (*p == '>' && depth > 0) {
			depth--;
		} else if (*p == ' ' && depth == 0 && !symbol_starts_with(p, len - i, " [clone") && !symbol_starts_with(p, len - i, " const")) {
			out->len = begin; /* what stood there was a return type */
		} else if (*p == ' ' && depth == 0) {
			break;
		} else if (depth == 0) {
			buf_putc(out, *p);
		}
	}
	if (out->data)
		out->data[out->len] = '\0';
	if (out->len == begin)
		buf_append(out, symbol, len);
}

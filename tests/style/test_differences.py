"""What the library does in somebody's process must not wrap: no difference of unsigned numbers without something before it that says that it cannot. The
compiler decides: it takes the checks of -fsanitize=unsigned-integer-overflow out again where it can prove that nothing wraps. What it leaves is a difference()
(common/proto/difference.h), an honest comparison, a function marked WRAPS, or a line with a reason: "no wrap: why" at its end or in the line above it."""
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from tests.lib import proc

CLANG = shutil.which("clang-14") or shutil.which("clang")
CALL = re.compile(r"call void @__ubsan_handle_sub_overflow\([^@]*(@[\w.]+)")
SITE = re.compile(r"^(@[\w.]+) = .*?(@\.src[\w.]*).*?i32 (\d+), i32 \d+ ", re.M)
NAME = re.compile(r'^(@\.src[\w.]*) = .*? c"(.*?)\\00"', re.M)
REASON = re.compile(r"/\* no wrap: .+ \*/$")


def differences(source, root=proc.ROOT):
    """{(file, line)} of those that the compiler cannot prove."""
    done = subprocess.run([CLANG, "-I.", "-D_GNU_SOURCE", '-DDRDOTNET_VERSION="0"', "-std=gnu11", "-O2", "-w", "-fsanitize=unsigned-integer-overflow",
                           "-S", "-emit-llvm", "-o", "-", source], cwd=root, check=True, capture_output=True, text=True)
    names = dict(NAME.findall(done.stdout))
    sites = {site: (os.path.normpath(names[name]), int(line)) for site, name, line in SITE.findall(done.stdout)}
    return {sites[site] for site in CALL.findall(done.stdout)}


def has_reason(name, line, root=proc.ROOT):
    with open(os.path.join(root, name), encoding="utf-8") as f:
        lines = f.read().split("\n")
    return any(REASON.search(text.rstrip()) for text in lines[max(0, line - 2):line])


@unittest.skipUnless(CLANG, "no clang")
class Differences(unittest.TestCase):
    one_process = True

    def test_no_difference_may_wrap(self):
        sources = [os.path.relpath(p, proc.ROOT) for place in ("profiler/*.c", "profiler/*/*.c", "common/proto/*.c")
                   for p in sorted(glob.glob(os.path.join(proc.ROOT, place)))]
        self.assertGreater(len(sources), 90)
        found = set()
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for some in pool.map(differences, sources):
                found |= some
        wrong = ["%s:%d: may wrap: compare before, use difference(), or say why not: /* no wrap: ... */" % at for at in sorted(found) if not has_reason(*at)]
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_the_fault_that_it_is_for_is_seen(self):
        """How words of paths were folded once: a length past the end of a text, on the application's thread."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "fold.c"), "w", encoding="utf-8") as f:
                f.write("""#include <string.h>
struct shape { char text[160]; unsigned short len; struct { unsigned char at, len; } word[12]; };
void fold(struct shape *s, unsigned i)
{
	size_t at = s->word[i].at, len = s->word[i].len, rest = s->len - at - len, now = 6;
	if (at + now + rest > sizeof s->text)
		rest = sizeof s->text - at - now;
	memmove(s->text + at + now, s->text + at + len, rest);
}
size_t good(const struct shape *s, size_t at, size_t len)
{
	size_t left = at <= s->len ? s->len - at : 0;
	if (len > left)
		return 0;
	return left - len;
}
size_t said(size_t at)
{
	return 160 - at; /* no wrap: it is in the text */
}
""")
            found = differences("fold.c", folder)
            self.assertEqual(found, {("fold.c", 5), ("fold.c", 7), ("fold.c", 19)})
            self.assertEqual([at for at in sorted(found) if not has_reason(*at, folder)], [("fold.c", 5), ("fold.c", 7)])


if __name__ == "__main__":
    unittest.main()

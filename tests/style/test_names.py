"""Names of static functions carry their object: few are used by more than one file, so that a search finds one and a debugger means one."""
import collections
import re
import unittest

from tests.style.test_style import tracked
from tests.lib import proc

PARTS = ("agent/", "controller/", "profiler/", "common/")
DEFINITION = re.compile(r"^static (?!inline)[^;={}]*?\b(\w+)\([^;{}]*\)\s*\{", re.M)
MOST_PERCENT = 6  # of the definitions; curl and crun have 5 to 6


class Names(unittest.TestCase):
    def test_few_static_functions_share_their_name(self):
        files = collections.defaultdict(set)
        for name in tracked(".c"):
            if name.startswith(PARTS):
                with open(proc.ROOT + "/" + name, encoding="utf-8") as f:
                    for function in DEFINITION.findall(f.read()):
                        files[function].add(name)
        count = sum(map(len, files.values()))
        shared = {function: sorted(where) for function, where in files.items() if len(where) > 1}
        self.assertGreater(count, 3000)
        self.assertLess(100 * sum(map(len, shared.values())) / count, MOST_PERCENT, shared)

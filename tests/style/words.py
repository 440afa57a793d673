"""The words of the style guide, counted: what is banned, terms that the field has another word for, sentences that begin with their object, long ones.

usage: words.py [--lower]     prints the counts by part and kind; --lower: takes lower ones over into words.json, which may only fall
       words.py PART KIND     prints each place, such as `words.py docs terms`
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.realpath(os.path.join(os.path.dirname(__file__), "../..")))
from tests.style.test_style import lines_of, tracked  # noqa: E402

COUNTS = os.path.join(os.path.dirname(__file__), "words.json")
BANNED = [r"is told", r"are told", r"not told", r"\btells? of", r"told apart", r"at (?:both|each|the first|the second) looks?", r"looked at", r"two looks",
          r"\bstands? (?:on|at|in)\b", r"\bnobody\b", r"\bsomebody\b", r"\bwhom\b", r"\bbesides?\b", r"\bmeanwhile\b", r"\banew\b", r"\bfor ever\b",
          r"all the same\b", r"as a rule\b", r"as is normal", r"since before", r"\bfor so long\b", r"\bfor long\b", r"(?:could|can) not be had",
          r"\bis to be\b", r"of (?:its|their) own\b", r"\bthose of\b", r"\bthat of\b", r"owes? an answer", r"without work\b", r"on its way\b",
          r"\bgoes? on\b", r"that the message names", r"blocked otherwise"]
TERMS = {r"heap walks?\b": "heap snapshot", r"control groups?\b": "cgroup", r"of generation \d": "gen N", r"collections? in the background": "background GC",
         r"\bholders?\b": "owner (of a lock), retained by (of memory)", r"\bcircles?\b": "cycle", r"\bauthority of": "CA of",
         r"the definitions (?:of|in)": "the CRDs", r"the controller's own store": "the built-in store", r"\bdiseases?\b|\billness": "finding",
         r"Remedy:": "Fix:", r"Excluded:": "Ruled out:", r"Not measured:": "Not checked:", r"(?<!file )\bdescriptors?\b": "file descriptor",
         r"(?<=\d )us\b": "\u00b5s", r"recognis": "recogniz", r"behaviour": "behavior", r"\bcancelled": "canceled", r"\banalys(?:e|ed|er)\b": "analyz..."}
STARTS = r"^(?:Of|By|What|Where|Whose|Beside) "
PARTS = {"strings": ("agent/", "common/", "controller/", "profiler/"), "docs": ("docs/", "README.md"), "crds": ("crds/", "helm/", "deploy/"),
         "catalogue": ("catalogue/",)}
LONG = {"strings": 25, "docs": 25, "crds": 25, "catalogue": 25}
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def part_of(name):
    if name.startswith("docs/decisions/"):
        return None
    return next((part for part, starts in PARTS.items() if name.startswith(starts)), None)


def shown(name):
    """(line, text): texts of C and JavaScript of three words and more, whole lines of documents and manifests."""
    code = name.endswith((".c", ".h", ".js"))
    fenced = False
    for number, line in enumerate(lines_of(name), 1):
        if name.endswith(".md") and line.startswith("```"):
            fenced = not fenced
        if fenced:
            continue
        if code:
            if not re.match(r"\s*(#include|\*|/\*|//)", line):
                yield from ((number, t) for t in STRING.findall(line) if t.count(" ") >= 2)
        else:
            yield number, line


def sentences(text):
    return [s for s in re.split(r"(?<=[.!?;:])\s+", re.sub(r"[`*|]|\]\([^)]*\)", " ", text)) if s]


def kinds(part, text):
    """(kind, what) of each fault of a text."""
    yield from (("banned", m.group()) for phrase in BANNED for m in re.finditer(phrase, text, re.I))
    yield from (("terms", "%s -> %s" % (m.group(), better)) for phrase, better in TERMS.items() for m in re.finditer(phrase, text))
    for sentence in sentences(text):
        if re.match(STARTS, sentence):
            yield "starts", sentence[:60]
        if len(re.findall(r"\w+", sentence)) > LONG[part]:
            yield "long", sentence[:60]


def places():
    """(part, kind, place, what)"""
    for name in tracked(".c", ".h", ".js", ".html", ".yaml", ".md"):
        part = part_of(name)
        for number, text in shown(name) if part else ():
            yield from ((part, kind, "%s:%d" % (name, number), what) for kind, what in kinds(part, text))


def counted():
    counts = {part: {kind: 0 for kind in ("banned", "terms", "starts", "long")} for part in PARTS}
    for part, kind, _, _ in places():
        counts[part][kind] += 1
    return counts


def allowed():
    with open(COUNTS, encoding="utf-8") as f:
        return json.load(f)


def main():
    if len(sys.argv) == 3:
        for part, kind, place, what in places():
            if (part, kind) == tuple(sys.argv[1:]):
                print("%s: %s" % (place, what))
        return 0
    now = counted()
    print(json.dumps(now, indent=1))
    if "--lower" in sys.argv[1:]:
        old = allowed() if os.path.exists(COUNTS) else now
        with open(COUNTS, "w", encoding="utf-8") as f:
            json.dump({p: {k: min(n, old.get(p, now[p])[k]) for k, n in of.items()} for p, of in now.items()}, f, indent=1)
            f.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

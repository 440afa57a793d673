#!/usr/bin/env python3
"""Writes what is made of the catalogue: the sections of docs/diseases.md between <!-- catalogue: PROFILER --> and <!-- end of catalogue -->.

usage: generate.py [--check]     --check: fails where the page is not as it would be written
"""
import glob
import os
import re
import sys

import yaml

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
PAGE = os.path.join(ROOT, "docs/diseases.md")
SECTION = re.compile(r"(<!-- catalogue: (\w+) -->\n).*?(<!-- end of catalogue -->)", re.S)


def rules():
    """{profiler: {id: rule}}"""
    found = {}
    for path in sorted(glob.glob(os.path.join(ROOT, "catalogue/*/*.yaml"))):
        if os.path.basename(path) == "group.yaml":
            continue
        with open(path, encoding="utf-8") as f:
            rule = yaml.safe_load(f)
        found.setdefault(rule["profiler"], {})[rule["id"]] = rule
    return found


def choices(of):
    """The sentences, without their conditions and slots."""
    return [of] if isinstance(of, str) else [c["say"] for c in of]


def sentence(text):
    text = text.strip()
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")


def linked(text, ids):
    """The text with the ids of other findings as links."""
    return re.sub(r"(?<![\w`\[])(%s)(?!\w)" % "|".join(sorted(ids)), lambda m: "[%s](#%s)" % (m[1], m[1].lower()), text)


def section(rule, ids):
    others = ids - {rule["id"]}
    parts = [("What it means", rule["meaning"]), ("How it is recognized", rule["recognized"]),
             ("What to do", " ".join(sentence(re.sub(r"[\[{][^\]}]*[\]}]", "…", c)) for c in choices(rule["fix"])))]
    if rule.get("confused"):
        parts.append(("Confused with", rule["confused"]))
    if rule.get("sources"):
        parts.append(("Sources", ", ".join("<%s>" % s for s in rule["sources"])))
    return "### %s\n\n" % rule["id"] + "\n".join("**%s:** %s\n" % (name, linked(sentence(text), others)) for name, text in parts)


def page(text):
    table = rules()
    ids = {i for of in table.values() for i in of}

    def filled(match):
        of = table.get(match[2], {})
        return match[1] + "\n" + "\n".join(section(of[i], ids) for i in sorted(of)) + "\n" + match[3]
    return SECTION.sub(filled, text)


def main():
    with open(PAGE, encoding="utf-8") as f:
        was = f.read()
    now = page(was)
    if "--check" in sys.argv[1:]:
        return 0 if now == was else "docs/diseases.md is not as catalogue/generate.py writes it: run it"
    with open(PAGE, "w", encoding="utf-8") as f:
        f.write(now)
    return 0


if __name__ == "__main__":
    sys.exit(main())

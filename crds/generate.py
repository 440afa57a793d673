#!/usr/bin/env python3
"""Makes what follows from the definitions in this folder and the table of profilers, after one of them was edited.

usage: generate.py

 - what a ProfilingSession says of each profiler, from the table common/api/profiler_list.h
 - what a ProfilingTrigger has of a ProfilingSession: its template's spec and its selector, between "# generated:" and "# end"
 - legacy/: the definitions without CEL rules
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import strip_cel  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PROFILERS = os.path.join(HERE, "../common/api/profiler_list.h")
SESSIONS, TRIGGERS = "drdotnet.dev_profilingsessions.yaml", "drdotnet.dev_profilingtriggers.yaml"


def read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as f:
        return f.readlines()


def profilers():
    """The rows of the table: {"name", "key", "seconds", "budget", "settings", "question"}."""
    with open(PROFILERS, encoding="utf-8") as f:
        rows = re.findall(r"\tX\((\w+,.*?)__VA_ARGS__\)", f.read().replace("\\\n", "\n"), re.S)
    made = []
    for row in rows:
        cells = [c.strip().strip('"') for c in re.findall(r'"[^"]*"|[^,"]+', row) if c.strip()]
        made.append({"name": cells[1], "key": cells[2], "seconds": int(cells[4]), "budget": int(cells[5]),
                     "settings": re.findall(r"PROFILER_(\w+)", cells[6]), "question": cells[7]})
    return made


def listed(names):
    return " and ".join([", ".join(names[:-1])] * (len(names) > 1) + names[-1:])


def by(rows, what):
    """[(a figure, names of those who have it)], by the figure."""
    return [(figure, [r["name"] for r in rows if r[what] == figure]) for figure in sorted({r[what] for r in rows})]


def one_of(names):
    return "self.profiler == '%s'" % names[0] if len(names) == 1 else "self.profiler in [%s]" % ", ".join("'%s'" % n for n in names)


SETTINGS = {"FREQUENCY": """\
frequencyHertz:
  description: Samples per second and busy CPU.
  type: integer
  format: int64
  minimum: 1
  maximum: 999
  default: 99
""", "ROOTS": """\
roots:
  description: "How the roots are found. Exact: by a collection that is forced, while the application is stopped. NoCollection: without one, a shorter \
stop; not all roots are known. Auto: Exact where its predicted stop fits into pauseBudgetMilliseconds, else NoCollection; where neither fits, objects are \
counted by type without their holders (.NET 9 and later)."
  type: string
  enum: [Auto, Exact, NoCollection]
  default: Auto
""", "WALKS": """\
walks:
  description: How often the heap is walked; the first and the last walk stand at the ends of durationSeconds.
  type: integer
  format: int64
  minimum: 2
  maximum: 10
  default: 3
"""}


def settings(row):
    """The field of the specification that holds a profiler's settings."""
    inner = "".join("    " + line for s in row["settings"] for line in SETTINGS[s].splitlines(True))
    return ("%s:\n  description: Settings of %s%s.\n  type: object\n" % (row["key"], row["name"], "" if inner else "; there are none to make")
            + ("  properties:\n" + inner if inner else ""))


def rules(rows):
    return "".join('- rule: "%s"\n  message: "%s"\n' % row for row in rows)


def about_profilers(rows):
    """[(pattern, text)]: what the definition of sessions says of profilers; each pattern is there once."""
    keys = "(?:%s)" % "|".join(r["key"] for r in rows)
    pair = r'(?: *- rule: "%s.*\n +message: "%s.*\n)+'
    seconds, budgets = by(rows, "seconds"), by(rows, "budget")
    (_, looks), usual = seconds[0], max(seconds[1:], key=lambda s: len(s[1]))[0]
    lengths = ", ".join("%d for %s" % (s, listed(names)) for s, names in seconds[1:])
    default = "".join("%s ? %d : " % (one_of(names), s) for s, names in reversed(seconds) if s != usual) + str(usual)
    pauses = "; ".join("%d for %s, which walk the heap" % (b, listed(names)) for b, names in reversed(budgets[1:]))
    return [
        (pair % (r"has\(self\.%s\) == has" % keys, keys + " is immutable"), rules(
            ("has(self.{0}) == has(oldSelf.{0}) && (!has(self.{0}) || self.{0} == oldSelf.{0})".format(r["key"]),
             r["key"] + " is immutable; create another session") for r in rows)),
        (pair % ("self.profiler == '", keys + " belongs to"), rules(
            ("self.profiler == '%s' || !has(self.%s)" % (r["name"], r["key"]), "%s belongs to the profiler %s" % (r["key"], r["name"])) for r in rows)),
        (r' *- rule: "!has\(self.durationSeconds\) .*\n', '- rule: "!has(self.durationSeconds) || !(%s)"\n' % one_of(looks)),
        (r' *- rule: "!has\(self.activeDeadlineSeconds\) .*\n', '- rule: "!has(self.activeDeadlineSeconds) || self.activeDeadlineSeconds >= '
         '(has(self.durationSeconds) ? self.durationSeconds : %s) + 10"\n' % default),
        (r' *description: "The question\..*\n.*\n *enum:.*\n', 'description: "The question. %s"\ntype: string\nenum: [%s]\n' % (
            " ".join("%s: %s" % (r["name"], r["question"]) for r in rows), ", ".join(r["name"] for r in rows))),
        (r' *description: "How long to look\..*\n', 'description: "How long to look. Where it is left out, the profiler\'s own default: %s. %s look once '
         'and take none."\n' % (lengths, listed(looks))),
        (r' *%s:\n( +)description: Settings of (?:.*\n)*?(?= *pauseBudgetMilliseconds:)' % rows[0]["key"], "".join(map(settings, rows))),
        (r' *description: "The longest time for which.*\n', 'description: "The longest time for which the session may pause the application; stops that follow '
         'each other at once are one pause, and a longer one ends the session. Where it is left out: %s; %d for the others."\n' % (pauses, budgets[0][0])),
    ]


def sessions():
    text = "".join(read(SESSIONS))
    for pattern, made in about_profilers(profilers()):
        found = re.findall("^" + pattern, text, re.M)
        if len(found) != 1:
            sys.exit("%s: %d times: %s" % (SESSIONS, len(found), pattern))
        text = re.sub("^" + pattern, lambda m: "".join(" " * strip_cel.indent(m[0]) + line for line in made.splitlines(True)), text, flags=re.M)
    return text.splitlines(keepends=True)


def block(lines, key):
    """The first `key:` and all that is indented deeper, moved to the left margin."""
    start = next(i for i, line in enumerate(lines) if line.strip() == key + ":")
    depth = strip_cel.indent(lines[start])
    end = start + 1
    while end < len(lines) and (strip_cel.indent(lines[end]) > depth or lines[end].strip() == ""
                                or (strip_cel.indent(lines[end]) == depth and lines[end].lstrip().startswith("- "))):
        end += 1
    return [line[depth:] for line in lines[start:end]]


def without(lines, key):
    cut = block(lines, key)
    joined = [line.strip() for line in cut]
    at = next(i for i in range(len(lines)) if [line.strip() for line in lines[i:i + len(cut)]] == joined)
    return lines[:at] + lines[at + len(cut):]


def rules_kept(lines):
    """A template may be changed: rules about the old object go, each with its message."""
    out, skip = [], False
    for line in lines:
        if line.lstrip().startswith("- rule:"):
            skip = "oldSelf" in line
        if not (skip and line.lstrip().startswith(("- rule:", "message:"))):
            out.append(line)
    return out


def template_spec(lines):
    """As a session's spec, but: not immutable, without `cancel`, and the target may leave the pod to the source. Without `start`: what a source
    tells of runs already. Without `reveal` too: the session is the controller's, so nobody would ask whether the trigger's author has that right."""
    spec = rules_kept(block(block(lines, "properties"), "spec"))
    for field in ("cancel", "reveal", "start"):
        spec = without(spec, field)
    text = re.sub(r' *- rule: ".*self\.start.*\n.*\n', "", "".join(spec))
    text = re.sub(r"description: What to ask of whom\..*",
                  "description: A session's spec. Where the source names the pod, target may be left out.", text, count=1)
    text = text.replace("required: [profiler, target]", "required: [profiler]", 1)
    text = text.replace('rule: "has(self.selector) != has(self.podName)"\n', 'rule: "!(has(self.selector) && has(self.podName))"\n', 1)
    text = text.replace('message: "give either selector or podName"\n', 'message: "give either selector or podName, not both"\n', 1)
    return text.splitlines(keepends=True)


def embed(lines, name, content):
    start = next(i for i, line in enumerate(lines) if line.strip() == "# generated: " + name)
    end = next(i for i in range(start, len(lines)) if lines[i].strip() == "# end")
    pad = " " * strip_cel.indent(lines[start])
    return lines[:start + 1] + [pad + line for line in content] + lines[end:]


def triggers(session_lines):
    lines = embed(read(TRIGGERS), "spec", template_spec(session_lines))
    return embed(lines, "selector", block(session_lines, "selector"))


def outputs():
    """All files that are made, by their path from here: their lines."""
    made = {SESSIONS: sessions()}
    made[TRIGGERS] = triggers(made[SESSIONS])
    for name in sorted(n for n in os.listdir(HERE) if n.endswith(".yaml")):
        lines = made.get(name) or read(name)
        made[os.path.join("legacy", name)] = ["# Made by ../strip_cel.py from ../%s; do not edit.\n" % name] + list(strip_cel.strip(lines))
    return made


if __name__ == "__main__":
    for path, lines in outputs().items():
        with open(os.path.join(HERE, path), "w", encoding="utf-8") as f:
            f.writelines(lines)

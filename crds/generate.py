#!/usr/bin/env python3
"""Makes what follows from the definitions in this folder, after one of them was edited.

usage: generate.py          (or `make crds`)

 - what a ProfilingTrigger has of a ProfilingSession: its template's spec and its selector, between "# generated:" and "# end"
 - legacy/: the definitions without CEL rules
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import strip_cel  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SESSIONS, TRIGGERS = "drdotnet.dev_profilingsessions.yaml", "drdotnet.dev_profilingtriggers.yaml"


def read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as f:
        return f.readlines()


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
    """As a session's spec, but: not immutable, without `cancel`, and the target may leave the pod to the source. Without `reveal` too:
    the session is the controller's, so nobody would ask whether the trigger's author has that right."""
    spec = rules_kept(block(block(lines, "properties"), "spec"))
    for field in ("cancel", "reveal"):
        spec = without(spec, field)
    text = "".join(spec)
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


def triggers():
    sessions = read(SESSIONS)
    lines = embed(read(TRIGGERS), "spec", template_spec(sessions))
    return embed(lines, "selector", block(sessions, "selector"))


def outputs():
    """All files that are made, by their path from here: their lines."""
    made = {TRIGGERS: triggers()}
    for name in sorted(n for n in os.listdir(HERE) if n.endswith(".yaml")):
        lines = made.get(name) or read(name)
        made[os.path.join("legacy", name)] = ["# Made by ../strip_cel.py from ../%s; do not edit.\n" % name] + list(strip_cel.strip(lines))
    return made


if __name__ == "__main__":
    for path, lines in outputs().items():
        with open(os.path.join(HERE, path), "w", encoding="utf-8") as f:
            f.writelines(lines)

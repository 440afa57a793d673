"""The fault matrix: what each fault at each step of a session led to, as the tests saw it.

A test that provokes a fault calls row(); it holds docs/fault-matrix.md to what happened. With DRDOTNET_WRITE_MATRIX set, row() notes
what happened instead, and running this file puts the notes into the document: the rows of a test replace those that it had.
"""
import glob
import json
import os
import re

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
DOCUMENT = os.path.join(ROOT, "docs/fault-matrix.md")
NOTES = os.path.join(ROOT, "build/fault-matrix")
BEGIN, END = "<!-- rows: written by the tests -->", "<!-- end of rows -->"
GRID_BEGIN, GRID_END = "<!-- grid: made of the rows below -->", "<!-- end of grid -->"
GRID_PART = "Faults of the process and of the agent"  # the part that has a row for each step and each fault
HEAD = "| Step | Fault | What happens | Test |\n| --- | --- | --- | --- |\n"


def row(test, part, step, fault, outcome):
    """Says that `fault` at `step` had `outcome`; `part` is the table's heading. Words only, nothing that differs from run to run."""
    line = "| %s | %s | %s | `%s` |" % (step, fault, outcome, test.id())
    assert not re.search(r"[|\n]", step + fault + outcome), line
    if os.environ.get("DRDOTNET_WRITE_MATRIX"):
        os.makedirs(NOTES, exist_ok=True)
        with open(os.path.join(NOTES, test.id() + ".jsonl"), "a", encoding="utf-8") as f:
            f.write(json.dumps([part, line]) + "\n")
        return
    test.assertIn(line, read().get(part, []), "docs/fault-matrix.md says otherwise; DRDOTNET_WRITE_MATRIX=1 and tests/lib/matrix.py write it anew")


def read():
    """{part: [line]} of the document."""
    with open(DOCUMENT, encoding="utf-8") as f:
        rows = f.read().partition(BEGIN)[2].partition(END)[0]
    parts, part = {}, None
    for line in rows.splitlines():
        if line.startswith("### "):
            part = parts.setdefault(line[4:], [])
        elif line.startswith("| ") and not line.startswith(("| Step |", "| --- |")):
            part.append(line)
    return parts


def cells(line):
    """[step, fault, what happens, test] of a row."""
    return [cell.strip() for cell in line.strip("|").split(" | ")]


def grid(lines):
    """Steps down, faults across, of the rows whose fault was tried at many steps: letters for the faults, which are told first."""
    rows = [cells(line)[:3] for line in lines]
    faults = [f for f in dict.fromkeys(fault for _, fault, _ in rows) if sum(fault == f for _, fault, _ in rows) > 5]
    letters = {fault: chr(ord("A") + i) for i, fault in enumerate(faults)}
    steps = {}
    for step, fault, outcome in rows:
        if fault in letters:
            steps.setdefault(step, {})[fault] = outcome.replace("; report delivered", "").replace("; no report", " (no report)")
    text = "".join("- **%s**: %s\n" % (letters[fault], fault) for fault in faults)
    text += "\n| Step | %s |\n| --- |%s\n" % (" | ".join(letters.values()), " --- |" * len(faults))
    for step, by_fault in steps.items():
        text += "| %s | %s |\n" % (step, " | ".join(by_fault.get(fault, "") for fault in faults))
    return text


def between(text, begin, end):
    return text.partition(begin)[2].partition(end)[0]


def tests():
    """The names of the tests that the document's rows come from."""
    return {line.rpartition("`")[0].rpartition("`")[2] for lines in read().values() for line in lines}


def write():
    parts = read()
    for path in sorted(glob.glob(os.path.join(NOTES, "*.jsonl"))):
        name = "`%s` |" % os.path.basename(path)[:-len(".jsonl")]
        for part in parts:
            parts[part] = [line for line in parts[part] if not line.endswith(name)]
        with open(path, encoding="utf-8") as f:
            for part, line in map(json.loads, f):
                if line not in parts.setdefault(part, []):
                    parts[part].append(line)
        os.unlink(path)
    tables = "\n".join("### %s\n\n%s%s\n" % (part, HEAD, "\n".join(lines)) for part, lines in sorted(parts.items()) if lines)
    with open(DOCUMENT, encoding="utf-8") as f:
        before, _, rest = f.read().partition(BEGIN)
    if GRID_BEGIN in before:
        before = before.partition(GRID_BEGIN)[0] + GRID_BEGIN + "\n" + grid(parts.get(GRID_PART, [])) + GRID_END + before.partition(GRID_END)[2]
    with open(DOCUMENT, "w", encoding="utf-8") as f:
        f.write(before + BEGIN + "\n" + tables + END + rest.partition(END)[2])


if __name__ == "__main__":
    write()

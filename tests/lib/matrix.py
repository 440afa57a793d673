"""The fault matrix: what each fault at each step of a session led to, as the tests saw it.

A test that provokes a fault calls row(); it holds tests/fault-rows.json to what happened. With DRDOTNET_WRITE_MATRIX set, row() notes
what happened instead, and running this file puts the notes there, and what is made of the rows into docs/fault-matrix.md: the rows of a
test replace those that it had.
"""
import glob
import json
import os
import re
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, ROOT)
from tests.lib import json_text  # noqa: E402
DOCUMENT = os.path.join(ROOT, "docs/fault-matrix.md")
# {part: {"steps": [step, ...], "tests": {test: {fault: [[what happens, steps, ...], ...]}}}}; steps: "one", or "first ... last" in the order above
ROWS = os.path.join(ROOT, "tests/fault-rows.json")
TO = " ... "
NOTES = os.path.join(ROOT, "build/fault-matrix")
BEGIN, END = "<!-- made of tests/fault-rows.json -->", "<!-- end -->"
GRIDS = "Faults of the process and of the agent"  # the parts of this name have a row for each step and each fault
MANY = 5  # steps: a fault that was tried at more of them is a column of its part's grid
SHORT = {"Completed; report delivered": "✓", "starts again: Completed; report delivered": "↻"}


def row(test, part, step, fault, outcome):
    """Says that `fault` at `step` had `outcome`; `part` is the table's heading. Words only, nothing that differs from run to run."""
    assert not re.search(r"[|\n]", step + fault + outcome) and TO not in step, (step, fault, outcome)
    if os.environ.get("DRDOTNET_WRITE_MATRIX"):
        os.makedirs(NOTES, exist_ok=True)
        with open(os.path.join(NOTES, test.id() + ".jsonl"), "a", encoding="utf-8") as f:
            f.write(json.dumps([part, step, fault, outcome]) + "\n")
        return
    test.assertIn((step, fault, outcome, test.id()), read().get(part, []),
                  "tests/fault-rows.json says otherwise; DRDOTNET_WRITE_MATRIX=1 and tests/lib/matrix.py write it anew")


def read():
    """{part: [(step, fault, what happens, test)]}"""
    with open(ROWS, encoding="utf-8") as f:
        parts = json.load(f)
    return {part: [(step, fault, outcome, test) for test, faults in made["tests"].items() for fault, runs in faults.items()
                   for outcome, *spans in runs for span in spans for step in steps_of(span, made["steps"])] for part, made in parts.items()}


def steps_of(span, order):
    first, _, last = span.partition(TO)
    return order[order.index(first):order.index(last or first) + 1]


def spans_of(steps, order):
    """The same the other way round."""
    runs = []
    for step in steps:
        if runs and order.index(step) == order.index(runs[-1][-1]) + 1:
            runs[-1].append(step)
        else:
            runs.append([step])
    return [run[0] if len(run) == 1 else run[0] + TO + run[-1] for run in runs]


def order_of(rows):
    """The steps as a session comes by them: as the longest walks did."""
    walks = {}
    for step, fault, _, test in rows:
        walks.setdefault((test, fault), []).append(step)
    return list(dict.fromkeys(step for walk in sorted(walks.values(), key=len, reverse=True) for step in walk))


def rows_text(parts):
    """The file's."""
    made = {}
    for part, rows in sorted(parts.items()):
        order = order_of(rows)
        tests = {}
        for step, fault, outcome, test in rows:
            runs = tests.setdefault(test, {}).setdefault(fault, [])
            if not (runs and runs[-1][0] == outcome):
                runs.append((outcome, []))
            runs[-1][1].append(step)
        made[part] = {"steps": order, "tests": {test: {fault: [[outcome, *spans_of(steps, order)] for outcome, steps in runs]
                                                       for fault, runs in faults.items()} for test, faults in tests.items()}}
    return json_text.text(made) + "\n"


# the document -----------------------------------------------------------------------------------------------------

def columns(parts):
    """{fault: letter} of all grids."""
    faults = {}
    for part, rows in parts.items():
        if part.startswith(GRIDS):
            for fault in dict.fromkeys(r[1] for r in rows):
                if sum(r[1] == fault for r in rows) > MANY:
                    faults.setdefault(fault, chr(ord("A") + len(faults)))
    return faults


def shown(outcome):
    return SHORT.get(outcome) or outcome.replace("Canceled; report delivered", "✓ Canceled").replace("; no report", "")


def joined(steps):
    return steps[0] if len(steps) == 1 else steps[0] + TO + steps[-1]


def grid(rows, letters):
    """Steps down, faults across; steps that follow each other and look alike are one line."""
    there = [letters[f] for f in letters if any(r[1] == f for r in rows)]
    cells = {step: {} for step in order_of(rows) if any(r[0] == step and r[1] in letters for r in rows)}
    for step, fault, outcome, _ in rows:
        if fault in letters:
            cells[step].setdefault(letters[fault], []).append(shown(outcome))
    lines = []
    for step, by_letter in cells.items():
        line = [" / ".join(dict.fromkeys(by_letter.get(letter, []))) for letter in there]
        if lines and lines[-1][1] == line:
            lines[-1][0].append(step)
        else:
            lines.append(([step], line))
    head = "| at the step | %s |\n|%s\n" % (" | ".join(there), " --- |" * (len(there) + 1))
    return head + "".join("| %s | %s |\n" % (joined(steps), " | ".join(line)) for steps, line in lines)


def table(rows):
    """Fault by fault; the steps at which the same happened together."""
    lines = {}
    for step, fault, outcome, _ in rows:
        lines.setdefault((fault, outcome), []).append(step)
    return "| fault | at the step | what happens |\n| --- | --- | --- |\n" + "".join(
        "| %s | %s | %s |\n" % (fault, ", ".join(dict.fromkeys(steps)), outcome) for (fault, outcome), steps in lines.items())


def modules(rows):
    return "Tests: %s\n" % ", ".join("`%s`" % name for name in sorted({r[3].rsplit(".", 2)[0] for r in rows}))


def document(parts):
    """What stands between BEGIN and END."""
    letters = columns(parts)
    text = "".join("- **%s**: %s\n" % (letter, fault) for fault, letter in letters.items())
    for part, rows in sorted(parts.items(), key=lambda item: (not item[0].startswith(GRIDS), item[0])):
        text += "\n### %s\n\n" % part
        in_grid = [r for r in rows if part.startswith(GRIDS) and r[1] in letters]
        others = [r for r in rows if r not in in_grid]
        text += "\n".join([*([grid(in_grid, letters)] if in_grid else []), *([table(others)] if others else []), modules(rows)])
    return text


def between(text, begin, end):
    return text.partition(begin)[2].partition(end)[0]


def tests():
    """The names of the tests that the rows come from."""
    return {r[3] for rows in read().values() for r in rows}


def write():
    parts = read()
    for path in sorted(glob.glob(os.path.join(NOTES, "*.jsonl"))):
        name = os.path.basename(path)[:-len(".jsonl")]
        for part in parts:
            parts[part] = [r for r in parts[part] if r[3] != name]
        with open(path, encoding="utf-8") as f:
            for part, step, fault, outcome in map(json.loads, f):
                if (step, fault, outcome, name) not in parts.setdefault(part, []):
                    parts[part].append((step, fault, outcome, name))
        os.unlink(path)
    parts = {part: rows for part, rows in parts.items() if rows}
    with open(ROWS, "w", encoding="utf-8") as f:
        f.write(rows_text(parts))
    with open(DOCUMENT, encoding="utf-8") as f:
        before, _, rest = f.read().partition(BEGIN)
    with open(DOCUMENT, "w", encoding="utf-8") as f:
        f.write(before + BEGIN + "\n" + document(read()) + END + rest.partition(END)[2])


if __name__ == "__main__":
    write()

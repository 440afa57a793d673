"""The twelve profilers on arm64, each once: what to run in the emulated machine, and what of it is right.

usage: python3 -m tests.platforms.arm64.judge script [NAME...]              prints what the machine is to run, behind guest.sh
       python3 -m tests.platforms.arm64.judge verdict CONSOLE OUT [NAME...]  holds its console's text against the truth of the corpus, writes OUT, 1 where one
                                                                             is not right. With names: of these cases alone, the others stay in OUT
"""
import base64
import io
import json
import os
import shlex
import sys
import tarfile
import tempfile

from tests.corpus import judge, session, truth

# Those that leave an emulator time, and those that leave it least come last.
NAMES = ("lock-circle", "stand-abandoned", "wait-convoy", "task-places", "error-tick", "requests-slow-service", "collect-batches", "held-orders", "dup-texts",
         "spin-flag", "box-metrics", "static-audit")
CASES = [next(case for case in truth.SICK if case.name == name) for name in NAMES]
MACHINE = "Debian's kernel under qemu-system-aarch64 (software emulation); never on arm64 hardware"
PASSED, FAILED, NOT_MEASURED = "passed", "failed", "not measured"
WARM = 12  # seconds: code is compiled ten times as slowly


def warm(case):
    return max(case.warm, session.WARM.get(case.profiler, WARM))


def script(cases):
    """Those that need time begin first and come last."""
    late = [c for c in cases if c.profiler in session.WARM]
    lines = ["early %s %s" % (c.name, c.load) for c in late]
    for case in [c for c in cases if c not in late] + late:
        words = session.words(case, "PID", "OUT")
        at = words.index("--pid")
        del words[at:at + 4]  # the machine knows process and folder
        lines.append(" ".join(["one", case.name, case.load, str(warm(case)), *map(shlex.quote, words)]))
    return "\n".join(lines) + "\n"


def results(console):
    """{name: bytes of an archive} of the lines of the console."""
    found = {}
    for line in console.splitlines():
        word, _, rest = line.partition("RESULT ")
        name, _, packed = rest.partition(" ")
        if packed and not word.strip():
            try:
                found[name] = base64.b64decode(packed, validate=True)
            except ValueError:
                pass  # torn
    return found


def seen(folder):
    """What tests.corpus.machine's witness would have said."""
    def numbers(name):
        with open(os.path.join(folder, name), encoding="ascii") as f:
            return [float(word) for word in f.read().split()[:4]]
    try:
        before, after = numbers("before"), numbers("after")
        ran, waited, busy, seconds = (b - a for a, b in zip(before, after))
    except (OSError, ValueError):
        return None
    return {"seconds": seconds, "ran": ran, "waited": waited, "others": max(0.0, busy - ran), "cpus": 2}


class Done:
    def __init__(self, folder):
        def text(name):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as f:
                return f.read()
        self.stdout, self.stderr, self.returncode = text("said.json"), text("said.err"), int(text("status") or 1)


def outcome(case, archive):
    """(passed, failed or not measured; why; the runtime's version). A session that did not take place has measured nothing."""
    if archive is None:
        return NOT_MEASURED, "the machine had no time for it", None
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(folder, filter="data")
        with open(os.path.join(folder, "app.log"), encoding="utf-8", errors="replace") as f:
            ready = next((json.loads(line) for line in f if line.startswith('{"ready"')), None)
        if ready is None:
            return NOT_MEASURED, "the application was not ready in time", None
        if os.path.exists(os.path.join(folder, "ended")):
            return FAILED, "the application ended", ready["runtime"]
        said = session.answer(Done(folder), os.path.join(folder, "report"))
        if said.get("error"):
            return NOT_MEASURED, said["error"], ready["runtime"]
        said["machine"] = seen(folder)
        right, why = judge.judge(case, said)
        return (PASSED if right == judge.RIGHT else FAILED), why or said.get("headline") or "", ready["runtime"]


def verdict(console, cases):
    archives, profilers, runtime = results(console), {}, None
    kernel = next((line.split("KERNEL ", 1)[1].strip() for line in console.splitlines() if "KERNEL " in line), None)
    for case in cases:
        result, why, version = outcome(case, archives.get(case.name))
        runtime = runtime or version
        print("%-12s %-18s %-16s %s" % (result, case.profiler, case.name, why))
        profilers[case.profiler] = {"result": result, "case": case.name}
        if result != PASSED:
            profilers[case.profiler]["why"] = why
    return {"platform": "arm64", "machine": MACHINE, "kernel": kernel, "runtime": runtime, "profilers": profilers}


def main(words):
    names = words[1:] if words[:1] == ["script"] else words[3:]
    cases = [case for case in CASES if not names or case.name in names]
    if words[:1] == ["script"]:
        sys.stdout.write(script(cases))
        return 0
    with open(words[1], encoding="utf-8", errors="replace") as f:
        result = verdict(f.read(), cases)
    if names and os.path.exists(words[2]):
        with open(words[2], encoding="utf-8") as f:
            result["profilers"] = {**json.load(f)["profilers"], **result["profilers"]}
    with open(words[2], "w", encoding="utf-8") as f:
        json.dump(result, f, indent=1)
        f.write("\n")
    return int(any(p["result"] != PASSED for p in result["profilers"].values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Holds what a session said against the truth. Pure: a Case, and {"headline", "diagnosis", "findings", ...} as `drdotnet run --json` and report.json
have them, give an Outcome."""
import re

from tests.corpus import machine, truth

RIGHT, WRONG, FALSE_ALARM, FAILED = "right", "WRONG", "FALSE ALARM", "FAILED"
NODE_IS_FULL = ("NodeIsFull", "CPUQueue")
FULL = r"node is full|node has no free CPU"


def _has(pattern, text):
    return re.search(pattern, text, re.IGNORECASE) is not None


def _words(finding):
    return "%s: %s" % (finding.get("id", ""), finding.get("message", ""))


def _without_node(said):
    """The first line, or the next finding where the first line says that the node is full and the harness saw that, too; "": there is no other."""
    headline, rest = said.get("headline") or "", [f for f in said.get("findings") or [] if f.get("id") not in NODE_IS_FULL]
    if not machine.lacked_cpu(said.get("machine")) or not _has(FULL, headline):
        return headline
    return _words(rest[0]) if rest else ""


def judge(case, said):
    """(one of RIGHT, WRONG, FALSE_ALARM, FAILED; why). On a node that is full, by the harness's own word too, that a healthy application's first line says so
    is right, as long as nothing else of it is an alarm: with the few samples that it gets there is no telling what it does."""
    if said.get("error"):
        return FAILED, said["error"]
    headline, text, findings = _without_node(said), said.get("diagnosis") or "", said.get("findings")
    if not case.sick:
        alarms = ["first line: " + p for p in truth.ALARMS[case.profiler] if _has(p, headline)]
        alarms += ["finding " + _words(f) for f in findings or [] for p in truth.ALARMS[case.profiler] if _has(p, _words(f)) and f.get("state") == "Found"]
        full = _has(FULL, said.get("headline") or "")
        if full and machine.lacked_cpu(said.get("machine")) is False:
            alarms.append("first line: the node was not full")
        if alarms:
            return FALSE_ALARM, "; ".join(dict.fromkeys(alarms))
        if full and machine.lacked_cpu(said.get("machine")):
            return RIGHT, ""
    wrong = ["first line lacks " + p for p in case.first if not _has(p, headline)]
    wrong += ["text lacks " + p for p in case.text if not _has(p, text)]
    wrong += ["first line says " + p for p in case.never if _has(p, headline)]
    if case.sick and case.finding and findings is not None and not any(_has(case.finding, _words(f)) for f in findings):
        wrong.append("no finding " + case.finding)
    return (WRONG, "; ".join(wrong)) if wrong else (RIGHT, "")


def summary(results):
    """{"cases", "right", "percent", "falseAlarms", "wrong", "failed"} of [{"outcome": ...}, ...]."""
    count = {name: sum(r["outcome"] == name for r in results) for name in (RIGHT, WRONG, FALSE_ALARM, FAILED)}
    return {"cases": len(results), "right": count[RIGHT], "percent": round(100 * count[RIGHT] / len(results), 1) if results else 0.0,
            "falseAlarms": count[FALSE_ALARM], "wrong": count[WRONG], "failed": count[FAILED]}

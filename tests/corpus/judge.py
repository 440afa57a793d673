"""Holds what a session said against the truth. Pure: a Case, and {"headline", "diagnosis", "findings", ...} as `drdotnet run --json` and report.json
have them, give an Outcome."""
import re

from tests.corpus import truth

RIGHT, WRONG, FALSE_ALARM, FAILED = "right", "WRONG", "FALSE ALARM", "FAILED"


def _has(pattern, text):
    return re.search(pattern, text, re.IGNORECASE) is not None


def _words(finding):
    return "%s: %s" % (finding.get("id", ""), finding.get("message", ""))


def judge(case, said):
    """(one of RIGHT, WRONG, FALSE_ALARM, FAILED; why)"""
    if said.get("error"):
        return FAILED, said["error"]
    headline, text, findings = said.get("headline") or "", said.get("diagnosis") or "", said.get("findings")
    if not case.sick:
        alarms = ["first line: " + p for p in truth.ALARMS[case.profiler] if _has(p, headline)]
        alarms += ["finding " + _words(f) for f in findings or [] for p in truth.ALARMS[case.profiler] if _has(p, _words(f)) and f.get("state") == "Found"]
        if alarms:
            return FALSE_ALARM, "; ".join(dict.fromkeys(alarms))
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

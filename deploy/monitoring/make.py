#!/usr/bin/env python3
"""Writes, beside itself, dashboard.json, a Grafana dashboard (schema 39, Grafana 10 and newer) from the table of panels below, and
prometheus-rule.yaml, the alerts of rules.yaml as an object of the Prometheus operator.

usage: make.py [FOLDER to write into]
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
RULE = """# Made by make.py from rules.yaml; do not edit.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: drdotnet
  namespace: drdotnet-system
  labels: {app.kubernetes.io/part-of: drdotnet}
spec:
"""

SOURCE = {"type": "prometheus", "uid": "${source}"}


def sel(more=""):
    return '{namespace=~"$namespace"%s}' % ("," + more if more else "")


# (title, what it says, kind, unit, width of 24, [(expression, legend)])
PANELS = [
    ("Leader", "Exactly one replica leads", "stat", "none", 4, [("sum(drdotnet_leader%s)" % sel(), "leaders")]),
    ("Agents linked", "To the replica that has the most", "stat", "none", 4, [("max(drdotnet_agents_linked%s)" % sel(), "agents")]),
    ("Sessions at work", "Not yet over", "stat", "none", 4, [('max(drdotnet_sessions%s)' % sel('state="active"'), "sessions")]),
    ("Queue", "Keys that wait or are worked on", "stat", "none", 4, [("max(drdotnet_work_queue_depth%s)" % sel(), "keys")]),
    ("Clock difference", "To the API server's", "stat", "s", 4, [("max(abs(drdotnet_clock_difference_seconds%s))" % sel(), "difference")]),
    ("Epoch", "Changes of the leader", "stat", "none", 4, [("max(drdotnet_leader_epoch%s)" % sel(), "epoch")]),
    ("Sessions that ended, by reason", "docs/troubleshooting.md has the remedy of each", "timeseries", "none", 12,
     [("sum by (reason) (increase(drdotnet_sessions_total%s[$__rate_interval]))" % sel(), "{{reason}}")]),
    ("Sessions known", "In the API server", "timeseries", "none", 12, [("max by (state) (drdotnet_sessions%s)" % sel(), "{{state}}")]),
    ("Time of a reconcile", "One look at one session", "timeseries", "s", 12,
     [("histogram_quantile(%s, sum by (le) (rate(drdotnet_reconcile_seconds_bucket%s[$__rate_interval])))" % (q, sel()), "p" + q[2:])
      for q in ("0.50", "0.99")]),
    ("Reconciles that failed, by kind", "They are repeated", "timeseries", "ops", 12,
     [("sum by (kind) (rate(drdotnet_reconcile_errors_total%s[$__rate_interval]))" % sel(), "{{kind}}")]),
    ("Agents by replica", "Each agent has a link to every replica", "timeseries", "none", 12,
     [("drdotnet_agents_linked" + sel(), "{{pod}}")]),
    ("Links closed, by reason", "By the controller", "timeseries", "none", 12,
     [("sum by (reason) (increase(drdotnet_link_closed_total%s[$__rate_interval]))" % sel(), "{{reason}}")]),
    ("Dropped", "Everything that was dropped is counted", "timeseries", "none", 12,
     [("sum by (reason) (increase(drdotnet_%s_total%s[$__rate_interval]))" % (n, sel()), text + ": {{reason}}") for n, text in
      (("events_dropped", "event"), ("link_dropped_messages", "message"), ("job_reports_dropped", "word of an agent"),
       ("watch_objects_dropped", "object"))]),
    ("Own report store", "Requests by operation", "timeseries", "ops", 12,
     [("sum by (operation) (rate(drdotnet_store_requests_total%s[$__rate_interval]))" % sel(), "{{operation}}")]),
    ("Watch restarts, by reason", "Of the API server's watch", "timeseries", "none", 12,
     [("sum by (reason) (increase(drdotnet_watch_restarts_total%s[$__rate_interval]))" % sel(), "{{reason}}")]),
    ("Sessions deleted", "After their time to live", "timeseries", "none", 12,
     [("sum(increase(drdotnet_sessions_expired_total%s[$__rate_interval]))" % sel(), "deleted")]),
]


def place(panels):
    x = y = row = 0
    for number, (title, description, kind, unit, width, queries) in enumerate(panels, 1):
        height = 4 if kind == "stat" else 8
        if x + width > 24:
            x, y, row = 0, y + row, 0
        yield {"id": number, "type": kind, "title": title, "description": description, "datasource": SOURCE,
               "gridPos": {"x": x, "y": y, "w": width, "h": height},
               "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
               "options": {"legend": {"displayMode": "list", "placement": "bottom"}} if kind == "timeseries" else
               {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "none"},
               "targets": [{"refId": chr(65 + n), "datasource": SOURCE, "expr": expression, "legendFormat": legend}
                           for n, (expression, legend) in enumerate(queries)]}
        x, row = x + width, max(row, height)


def variable(name, label, kind, **more):
    return {"name": name, "label": label, "type": kind, **more}


def dashboard():
    return {
        "uid": "drdotnet", "title": "Dr-Dotnet", "tags": ["drdotnet", "dotnet"], "schemaVersion": 39, "version": 1, "editable": True,
        "refresh": "1m", "time": {"from": "now-6h", "to": "now"}, "timezone": "", "annotations": {"list": []}, "links": [],
        "templating": {"list": [
            variable("source", "Data source", "datasource", query="prometheus"),
            variable("namespace", "Namespace", "query", datasource=SOURCE, query="label_values(drdotnet_leader, namespace)", refresh=2,
                     includeAll=True, allValue=".*", current={"text": "All", "value": "$__all"})]},
        "panels": list(place(PANELS)),
    }


def prometheus_rule():
    with open(os.path.join(HERE, "rules.yaml"), encoding="utf-8") as f:
        return RULE + "".join("  " + line for line in f if not line.startswith("#"))


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else HERE
    for name, text in (("dashboard.json", json.dumps(dashboard(), indent=1) + "\n"), ("prometheus-rule.yaml", prometheus_rule())):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)


if __name__ == "__main__":
    main()

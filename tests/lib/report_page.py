"""A report's page of any report.json and the view of its profiler, made of the tree's own files: what report.html would show of it."""
import base64
import gzip
import json
import os
import re

from tests.lib import proc

ASSETS = os.path.join(proc.ROOT, "agent/report/assets")
SCRIPTS = ("theme", "kit", "source", "flame_tree", "flame_graph", "flame_diff", "flame_time", "flame_section", "tree", "timeline")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def write(report, view, path):
    """`view`: such as agent/profilers/requests/request_view.js"""
    headline, *lines = report["diagnosis"]["text"].split("\n")
    fill = {
        "title": headline, "subject": "", "eyebrow": report["profiler"], "when": "", "headline": headline, "summary": "", "footer": "",
        "lines": "<ul class='lines'>%s</ul>" % "".join("<li>%s</li>" % line for line in lines),
        "data": base64.b64encode(gzip.compress(json.dumps(report).encode())).decode(),
        "styles": "<style>%s</style>" % read(os.path.join(ASSETS, "page.css")),
        "scripts": "".join("<script>%s</script>" % read(os.path.join(ASSETS, name + ".js")) for name in SCRIPTS) +
                   "<script>%s</script>" % read(os.path.join(proc.ROOT, view)),
    }
    page = re.sub(r'<meta http-equiv="Content-Security-Policy".*\n', "", read(os.path.join(ASSETS, "view.html")))
    with open(path, "w", encoding="utf-8") as f:
        f.write(re.sub(r"\{\{([a-z-]+)\}\}", lambda m: fill[m.group(1)], page))

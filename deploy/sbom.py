#!/usr/bin/env python3
"""Makes the software bill of materials of each program: CycloneDX 1.5 JSON, from what the program is really linked with and from what
Debian's package database says of it: name, version, licenses, package URL, SHA-256 of each file. The same build makes the same bytes.

usage: sbom.py [BUILD [FOLDER]]     BUILD: default build/release, or where they are installed; FOLDER: default BUILD/sbom
"""
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import uuid

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAMS = ("drdotnet", "drdotnet-agent", "drdotnet-controller", "kubectl-drdotnet", "libdrdotnet.so")
COMPILED_IN = ("uthash-dev",)  # headers whose code is in the programs
LIBRARY_FOLDERS = ("/usr/lib/%s", "/lib/%s", "/usr/lib", "/lib", "/lib64")
GNU = {"X86-64": ("x86_64-linux-gnu", "amd64"), "AArch64": ("aarch64-linux-gnu", "arm64")}
# Debian's short names of licenses that SPDX knows by another one; what is in neither list is given by its name
SPDX = {"Apache-2.0": "Apache-2.0", "MIT": "MIT", "Expat": "MIT", "BSD-2-clause": "BSD-2-Clause", "BSD-3-clause": "BSD-3-Clause",
        "BSD-3-Clause": "BSD-3-Clause", "ISC": "ISC", "Zlib": "Zlib", "curl": "curl", "LGPL-2.1+": "LGPL-2.1-or-later",
        "LGPL-2+": "LGPL-2.0-or-later", "LGPL-3+": "LGPL-3.0-or-later", "GPL-2+": "GPL-2.0-or-later", "GPL-3+": "GPL-3.0-or-later",
        "LGPL-2.1": "LGPL-2.1-only", "GPL-2": "GPL-2.0-only", "GPL-3": "GPL-3.0-only", "OpenSSL": "OpenSSL", "CC0-1.0": "CC0-1.0"}


sysroot = ""  # where the libraries and dpkg's list of them are: of another architecture, what tests/setup/cross.sh has brought


def query(*words):
    return ["dpkg-query", *(["--admindir=" + sysroot + "/var/lib/dpkg"] if sysroot else []), *words]


def out(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


@functools.lru_cache(maxsize=None)
def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", out("readelf", "-d", path))


def machine(path):
    found = re.search(r"Machine:\s+(.*)", out("readelf", "-h", path)).group(1)
    return next(v for k, v in GNU.items() if k in found)


def sysroot_of(path):
    arch = machine(path)[1]
    return "" if arch == out("dpkg", "--print-architecture").strip() else os.path.realpath(os.path.join(ROOT, "build/sysroot-" + arch))


def find(name, gnu):
    for folder in LIBRARY_FOLDERS:
        path = os.path.join(sysroot + folder.replace("%s", gnu), name)
        if os.path.exists(path):
            return os.path.realpath(path)
    raise SystemExit("sbom.py: %s is not installed" % name)


def linked(path, gnu):
    """{soname: (file, [sonames it needs])} of all that the loader brings in, directly or not."""
    found, todo = {}, list(needed(path))
    while todo:
        name = todo.pop()
        if name not in found:
            file = find(name, gnu)
            found[name] = (file, needed(file))
            todo += found[name][1]
    return found


@functools.lru_cache(maxsize=None)
def sha256(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def packages_of(paths):
    """{file: package}, by one question to dpkg. It knows some by their place before /usr was merged."""
    asked = {name: path for path in paths for name in (path[len(sysroot):], path[len(sysroot):].replace("/usr/lib/", "/lib/", 1))}
    done = subprocess.run(query("-S", *sorted(asked)), capture_output=True, text=True)
    found = {}
    for line in done.stdout.splitlines():
        names, _, path = line.rpartition(": ")
        if path in asked:
            found[asked[path]] = names.split(", ")[0]
    missing = sorted(set(paths) - set(found))
    if missing:
        raise SystemExit("sbom.py: no package has " + ", ".join(missing))
    return found


@functools.lru_cache(maxsize=None)
def licenses(name):
    """Those that the package's copyright file names in its machine-readable form."""
    try:
        with open(sysroot + "/usr/share/doc/%s/copyright" % name.partition(":")[0], encoding="utf-8", errors="replace") as f:
            text = f.read()
    except OSError:
        return []
    named = set(re.findall(r"^License: *(\S.*?) *$", text, re.M))
    known, others = sorted({SPDX[n] for n in named if n in SPDX}), sorted(n for n in named if n not in SPDX)
    return [{"license": {"id": n}} for n in known] + [{"license": {"name": n}} for n in others]


@functools.lru_cache(maxsize=None)
def fields_of(name):
    return out(*query("-W", "-f", "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${Homepage}", name)).split("\t")


def package(name, distribution):
    plain, version, arch, source, homepage = fields_of(name)
    purl = "pkg:deb/debian/%s@%s?arch=%s&distro=%s" % (plain, version.replace("+", "%2B").replace(":", "%3A"), arch, distribution)
    component = {"type": "library", "bom-ref": purl, "name": plain, "version": version, "purl": purl, "licenses": licenses(name),
                 "properties": [{"name": "debian:source", "value": source}]}
    if homepage.startswith("http"):
        component["externalReferences"] = [{"type": "website", "url": homepage}]
    return component


def distribution():
    with open("/etc/os-release", encoding="utf-8") as f:
        values = dict(re.findall(r'^(\w+)="?([^"\n]*)', f.read(), re.M))
    return "%s-%s" % (values["ID"], values.get("VERSION_ID", "unknown"))


def components(libraries, owners):
    """({package: component} with the libraries as its files, {soname: bom-ref})"""
    made, place, where = {}, {}, distribution()
    for soname, (file, _) in sorted(libraries.items()):
        name = owners[file]
        component = made.setdefault(name, package(name, where))
        place[soname] = component["bom-ref"]
        component.setdefault("components", []).append(
            {"type": "file", "bom-ref": component["bom-ref"] + "#" + soname, "name": soname, "hashes": [{"alg": "SHA-256", "content": sha256(file)}]})
    for name in COMPILED_IN:
        if libraries and subprocess.run(query("-s", name), capture_output=True).returncode == 0:
            made[name] = package(name, where)
            made[name]["properties"].append({"name": "drdotnet:linkage", "value": "compiled in"})
    return made, place


def dependencies(program, path, libraries, made, place):
    own = {ref: set() for ref in place.values()}
    for soname, (_, names) in libraries.items():
        own[place[soname]] |= {place[n] for n in names} - {place[soname]}
    direct = {place[n] for n in needed(path)} | {c["bom-ref"] for name, c in made.items() if name in COMPILED_IN}
    return [{"ref": program, "dependsOn": sorted(direct)}] + [{"ref": ref, "dependsOn": sorted(refs)} for ref, refs in sorted(own.items())]


def bill(path, version, libraries, owners):
    name, arch = os.path.basename(path), machine(path)[1]
    made, place = components(libraries, owners)
    ref = "pkg:generic/%s@%s?arch=%s" % (name, version, arch)
    digest = sha256(path)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "0"))))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.5",
        "serialNumber": "urn:uuid:%s" % uuid.uuid5(uuid.NAMESPACE_URL, ref + "#" + digest), "version": 1,
        "metadata": {"timestamp": stamp, "tools": {"components": [{"type": "application", "name": "deploy/sbom.py", "version": version}]},
                     "component": {"type": "library" if name.endswith(".so") else "application", "bom-ref": ref, "name": name, "version": version,
                                   "purl": ref, "licenses": [{"license": {"id": "Apache-2.0"}}], "hashes": [{"alg": "SHA-256", "content": digest}]}},
        "components": sorted(made.values(), key=lambda c: c["name"]),
        "dependencies": dependencies(ref, path, libraries, made, place),
    }


def main():
    global sysroot
    build = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build/release")
    folder = sys.argv[2] if len(sys.argv) > 2 else os.path.join(build, "sbom")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(ROOT, "VERSION"), encoding="utf-8") as f:
        version = f.read().strip()
    places = [os.path.join(build, place, name) for name in PROGRAMS for place in ("", "bin", "lib/drdotnet")]
    paths = [path for path in places if os.path.exists(path)]
    sysroot = sysroot_of(paths[0]) if paths else ""
    libraries = {path: linked(path, machine(path)[0]) for path in paths}
    owners = packages_of([file for found in libraries.values() for file, _ in found.values()])
    for path in paths:
        with open(os.path.join(folder, os.path.basename(path) + ".cdx.json"), "w", encoding="utf-8") as f:
            json.dump(bill(path, version, libraries[path], owners), f, indent=1)
            f.write("\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Makes one bill of materials in SPDX 2.3 JSON of those in CycloneDX that sbom.py has made of programs of one build.

usage: spdx.py NAME FILE.cdx.json...     prints it; NAME: of what the programs are delivered in
"""
import hashlib
import json
import re
import sys

NONE = "NOASSERTION"


class Document:
    def __init__(self, name, bills):
        self.packages, self.relations, self.extracted = {}, set(), {}
        digest = hashlib.sha256("".join(json.dumps(b, sort_keys=True) for b in bills).encode()).hexdigest()
        self.head = {
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
            "documentNamespace": "https://drdotnet.dev/spdx/%s-%s" % (name, digest[:32]),
            "creationInfo": {"created": bills[0]["metadata"]["timestamp"], "creators": ["Organization: Dr-Dotnet", "Tool: deploy/spdx.py"]}}
        for bill in bills:
            self.add(bill)

    def license(self, names):
        """The expression of what CycloneDX lists: each of them applies to some part."""
        ids = [n["license"].get("id") or self.own_license(n["license"]["name"]) for n in names]
        return " AND ".join(sorted(set(ids))) or NONE

    def own_license(self, name):
        """One that SPDX has no name for: a reference, which must be explained in the document."""
        ref = "LicenseRef-" + re.sub(r"[^A-Za-z0-9.-]+", "-", name).strip("-")
        self.extracted[ref] = {"licenseId": ref, "name": name,
                               "extractedText": "Called \"%s\" in /usr/share/doc/*/copyright of the Debian packages that name it; its text is there." % name}
        return ref

    def package(self, component, purpose):
        ref = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]+", "-", component["purl"][len("pkg:"):])
        made = {"SPDXID": ref, "name": component["name"], "versionInfo": component["version"], "primaryPackagePurpose": purpose,
                "downloadLocation": NONE, "filesAnalyzed": False, "licenseConcluded": NONE, "licenseDeclared": self.license(component["licenses"]),
                "copyrightText": NONE, "supplier": "Organization: " + ("Debian" if "pkg:deb/" in component["purl"] else "Dr-Dotnet"),
                "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": component["purl"]}]}
        if component.get("hashes"):
            made["checksums"] = [{"algorithm": "SHA256", "checksumValue": component["hashes"][0]["content"]}]
        self.packages[ref] = made
        return ref

    def add(self, bill):
        main = bill["metadata"]["component"]
        refs = {main["bom-ref"]: self.package(main, "LIBRARY" if main["type"] == "library" else "APPLICATION")}
        refs.update({c["bom-ref"]: self.package(c, "LIBRARY") for c in bill["components"]})
        compiled_in = {c["bom-ref"] for c in bill["components"] if any(p["value"] == "compiled in" for p in c["properties"])}
        self.relations.add(("SPDXRef-DOCUMENT", "DESCRIBES", refs[main["bom-ref"]]))
        for one in bill["dependencies"]:
            for other in one["dependsOn"]:
                self.relations.add((refs[one["ref"]], "STATIC_LINK" if other in compiled_in else "DYNAMIC_LINK", refs[other]))

    def json(self):
        relations = [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in sorted(self.relations)]
        packages, extracted = ([found[key] for key in sorted(found)] for found in (self.packages, self.extracted))
        return {**self.head, "packages": packages, "relationships": relations, "hasExtractedLicensingInfos": extracted}


def main():
    bills = []
    for path in sorted(sys.argv[2:]):
        with open(path, encoding="utf-8") as f:
            bills.append(json.load(f))
    json.dump(Document(sys.argv[1], bills).json(), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()

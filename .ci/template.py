"""Helpers of .ci/template.sh.

translate TEMPLATE OUT    what SAM makes of a template, without AWS
judge REASONS FOUND...    findings of checkov against the reasons why they stand
"""

import json
import sys


def translate(template, out):
    from samtranslator.translator.transform import transform
    from samtranslator.yaml_helper import yaml_parse

    class NoManagedPolicies:
        def load(self):
            return {}

    with open(template) as text:
        document = yaml_parse(text)
    # Where the code and what is nested lie is known once they are uploaded.
    document.get("Globals", {}).get("Function", {}).pop("CodeUri", None)
    for resource in document["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = "s3://bucket/code"
        if resource["Type"] == "AWS::Serverless::Application":
            resource["Properties"]["Location"] = "https://s3.amazonaws.com/bucket/nested"
    values = {name: p.get("Default", "") for name, p in document.get("Parameters", {}).items()}
    with open(out, "w") as file:
        json.dump(transform(document, values, NoManagedPolicies()), file, indent=1)


def judge(reasons, files):
    known = {}
    for number, line in enumerate(open(reasons), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        parts = line.split(None, 2)
        if len(parts) < 3 or len(parts[2]) < 20:
            sys.exit(f"{reasons}:{number}: expected a check, a kind of resource and the reason")
        known[(parts[0], parts[1])] = parts[2]
    bad, used, resources = [], set(), 0
    for name in files:
        found = json.load(open(name))
        for part in found if isinstance(found, list) else [found]:
            summary = part.get("summary", part)
            resources += summary["resource_count"]
            if summary["parsing_errors"]:
                bad.append(f"{name}: could not be read")
            for failed in part.get("results", {}).get("failed_checks", []):
                kind = failed["resource"].split(".")[0].replace("::Serverless::", "::Lambda::")
                key = (failed["check_id"], kind)
                if key in known:
                    used.add(key)
                else:
                    bad.append(f"{failed['check_id']} {failed['resource']}: {failed['check_name']}")
    bad += [f"{check} {kind}: a reason, and no finding" for check, kind in known.keys() - used]
    # A scan that read nothing finds nothing.
    if resources < 50:
        bad.append(f"only {resources} resources were scanned")
    if bad:
        sys.exit("\n".join(sorted(set(bad))))
    print(f"{resources} resources scanned; {len(used)} findings stand, each with its reason")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["translate", template, out]:
            translate(template, out)
        case ["judge", reasons, *files] if files:
            judge(reasons, files)
        case _:
            sys.exit(__doc__)

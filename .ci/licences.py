"""Refuses dependencies that are under GPL, LGPL or AGPL without an alternative, or that name no licence."""
import json
import sys

packages = json.load(sys.stdin)["packages"]
bad = []
for package in packages:
    licence = package.get("license") or ""
    if not licence and package.get("license_file"):
        licence = "file " + package["license_file"]
    choices = [part.strip(" ()") for part in licence.replace("/", " OR ").split(" OR ")]
    if not licence or all("GPL" in choice for choice in choices):
        bad.append(f"{package['name']} {package['version']}: {licence or 'no licence'}")
print(f"{len(packages)} packages, {len(bad)} not allowed")
for line in bad:
    print(line)
sys.exit(bool(bad))

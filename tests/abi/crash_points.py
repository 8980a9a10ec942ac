#!/usr/bin/env python3
"""Says whether a library has crash points (plugin/core/crash_point.hpp).

crash_points.py LIB present|absent   what the library must be like
crash_points.py --presets FILE       the presets for release must not have them
"""

import json
import sys

MARK = b"SENDONCE_CRASH_AT"
OPTION = "SENDONCE_CRASH_POINTS"


def of_library(path, wanted):
    with open(path, "rb") as library:
        found = "present" if MARK in library.read() else "absent"
    print(f"{path}: crash points are {found}, to be {wanted}")
    return found == wanted


def of_presets(path):
    with open(path, encoding="utf-8") as file:
        presets = {p["name"]: p for p in json.load(file)["configurePresets"]}

    def variable(preset):
        if OPTION in preset.get("cacheVariables", {}):
            return preset["cacheVariables"][OPTION]
        parents = preset.get("inherits", [])
        for parent in [parents] if isinstance(parents, str) else parents:
            found = variable(presets[parent])
            if found is not None:
                return found
        return None

    release = [p for name, p in presets.items() if name.startswith("release")]
    bad = [p["name"] for p in release if variable(p) not in (None, "OFF")]
    for name in bad:
        print(f"preset {name} has crash points")
    on = [name for name, p in presets.items() if variable(p) == "ON"]
    print(f"on in: {', '.join(on)}; presets for release: {len(release)}")
    return release and on and not bad


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--presets":
        return 0 if of_presets(sys.argv[2]) else 1
    if len(sys.argv) == 3 and sys.argv[2] in ("present", "absent"):
        return 0 if of_library(sys.argv[1], sys.argv[2]) else 1
    print(__doc__, file=sys.stderr)
    return 64


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Says whether a shared library exports exactly the symbols it should: exports.py LIB SYMBOL..."""

import subprocess
import sys


def exported(library):
    """Names of the dynamic symbols that the library defines; version nodes (type A) are none."""
    listing = subprocess.run(["nm", "--dynamic", "--defined-only", "--format=posix", library],
                             check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in listing.splitlines() if line.strip()]
    return {row[0].split("@")[0] for row in rows if row[1] != "A"}


def main():
    library, wanted = sys.argv[1], set(sys.argv[2:])
    found = exported(library)
    for name in sorted(found - wanted):
        print(f"{library}: exports {name}, which is not part of the ABI")
    for name in sorted(wanted - found):
        print(f"{library}: does not export {name}")
    print(f"exports: {len(found)} symbol(s)")
    return 0 if found == wanted else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The examples against config/schema/*.schema.json, so that the normative schemas and the decoders
(examples_test.cpp and device_report_test.cpp, on the same files) say the same."""
import json
import pathlib
import sys

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]


def refuse_constant(name):
    raise ValueError(f"{name} is no JSON")


def load(path):
    # Errors of UTF-8 and of JSON are both ValueErrors.
    return json.loads(path.read_bytes().decode("utf-8"), parse_constant=refuse_constant)


def refused(validator, path):
    try:
        return not validator.is_valid(load(path))
    except ValueError:
        return True


def index(folder):
    for line in (folder / "invalid.txt").read_text().splitlines():
        if not line.startswith("#"):
            name, _path, who = line.split()
            yield folder / f"invalid/{name}.json", who


def judge(name, folder):
    schema = json.loads((ROOT / f"config/schema/{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    faults = []
    for path in sorted((folder / "valid").glob("*.json")):
        faults += [f"{name}: {path.name}: {e.json_path}: {e.message[:200]}"
                   for e in validator.iter_errors(load(path))]
    for path, who in index(folder):
        if refused(validator, path) != (who == "schema"):
            faults.append(f"{name}: {path.name}: the index says {who}, the schema does not agree")
    return faults


def main():
    faults = judge("notification", HERE / "examples")
    faults += judge("device-report", HERE / "report_examples")
    print("\n".join(faults) or "the schemas agree with every example")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

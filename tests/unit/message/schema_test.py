#!/usr/bin/env python3
"""The examples against config/schema/notification.schema.json, so that the normative schema and the
decoder (examples_test.cpp, on the same files) say the same."""
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


def index():
    for line in (HERE / "examples/invalid.txt").read_text().splitlines():
        if not line.startswith("#"):
            name, _path, who = line.split()
            yield HERE / f"examples/invalid/{name}.json", who


def main():
    schema = json.loads((ROOT / "config/schema/notification.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    faults = []
    for path in sorted((HERE / "examples/valid").glob("*.json")):
        faults += [f"{path.name}: {e.json_path}: {e.message[:200]}"
                   for e in validator.iter_errors(load(path))]
    for path, who in index():
        if refused(validator, path) != (who == "schema"):
            faults.append(f"{path.name}: the index says {who}, the schema does not agree")
    print("\n".join(faults) or "the schema agrees with every example")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

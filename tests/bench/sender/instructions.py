#!/usr/bin/env python3
"""Instructions a request, ours and h2load's, counted by callgrind (P4 of docs/performance.md).

Two runs of different length are subtracted, so that starting counts for nothing.

  tests/bench/sender/instructions.py build/release/bin
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

SIZES = (10_000, 30_000)


def callgrind(directory, command):
    out = pathlib.Path(directory, "callgrind.out")
    subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *command],
                   check=True, capture_output=True)
    return int(re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.M).group(1))


def ours(programs, directory, endpoint, n):
    return callgrind(directory, [f"{programs}/bench_sender", "--rounds=1", "--senders=sendonce",
                                 f"--requests={n}", f"--provider={endpoint}",
                                 f"--credentials={directory}"])


def theirs(_programs, directory, _endpoint, n):
    """With the paths, the token and the body that ours has just sent."""
    token = pathlib.Path(directory, "authorization").read_text()
    headers = [f"authorization: {token}", "apns-topic: com.example.demo",
               "apns-push-type: alert", "apns-priority: 10", "apns-expiration: 0",
               "apns-collapse-id: order-8812", "apns-id: 01234567-89ab-8cde-8f01-23456789abcd",
               "content-type: application/json"]
    options = [word for header in headers for word in ("-H", header)]
    return callgrind(directory, ["h2load", "-n", str(n), "-c", "1", "-m", "100", "-i",
                                 f"{directory}/uris", "-d", f"{directory}/body.json", *options])


def compare(programs):
    with tempfile.TemporaryDirectory() as directory:
        with subprocess.Popen([f"{programs}/sendonce-fakeprov", "--make-credentials", directory,
                               "--apns-topic", "com.example.demo", "--lenient"],
                              stdout=subprocess.PIPE, text=True) as provider:
            try:
                endpoint = f"https://localhost:{json.loads(provider.stdout.readline())['port']}"
                each = {}
                for name, sender in (("sendonce", ours), ("h2load", theirs)):
                    few, many = (sender(programs, directory, endpoint, n) for n in SIZES)
                    each[name] = (many - few) / (SIZES[1] - SIZES[0])
                    print(f"{name:9} {each[name]:8,.0f} instructions a request", flush=True)
            finally:
                provider.terminate()
    print(f"P4 ours : h2load = {each['sendonce'] / each['h2load']:.2f} (goal 1.3, floor 1.8)")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        sys.exit(0 if sys.argv[1:] in (["--help"], ["-h"]) else 64)
    compare(sys.argv[1])

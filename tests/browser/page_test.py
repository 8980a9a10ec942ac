#!/usr/bin/env python3
"""The page of `sendonce page`, in a real Chromium, of a real run.

page_test.py BIN [--playwright DIR] [--chromium PROGRAM] [--screenshots DIR]

Starts nats-server, the fake provider with a script of faults, the daemon and the page, publishes
some hundred events, and lets page_test.mjs use the page as people do. DIR is where `npm install
playwright-core` was run; without it SENDONCE_PLAYWRIGHT names it. Exits 77, which ctest calls
skipped, when Chromium, node or playwright-core is missing.
"""

import argparse
import contextlib
import http.server
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

from waiting import PATIENCE, wait_for

SKIPPED = 77

CONFIG = """config_version = 1
[instance]
name = "shop-eu"
state_dir = "{dir}/state"
socket = "{dir}/admin.sock"
[nats]
servers = ["nats://127.0.0.1:{nats}"]
[ledger]
map_size = "256MiB"
[defaults.class]
expires = "10m"
claim = "10s"
ack_wait = "12s"
retention = "2d"
retry = {{ first = "50ms", factor = 2.0, cap = "500ms", attempts = 6, horizon = "5m" }}
[provider.apns]
kind = "apns"
endpoint = "https://localhost:{provider}"
topic = "com.example.app"
auth = {{ team = "TEAM123456", key_id = "KEY1234567", key = "file:{dir}/creds/apns.p8" }}
tls = {{ ca = "{dir}/creds/ca.pem" }}
call = {{ connect = "2s", total = "3s" }}
[provider.fcm]
kind = "fcm"
endpoint = "https://localhost:{provider}"
auth = {{ service_account = "file:{dir}/creds/service-account.json" }}
tls = {{ ca = "{dir}/creds/ca.pem" }}
call = {{ connect = "2s", total = "3s" }}
[provider.apns_old_key]
kind = "apns"
endpoint = "https://localhost:{provider}"
topic = "com.example.app"
auth = {{ team = "TEAM123456", key_id = "KEY7654321", key = "file:{dir}/creds/apns.p8" }}
tls = {{ ca = "{dir}/creds/ca.pem" }}
call = {{ connect = "2s", total = "3s" }}
[class.orders]
subject = "notify.orders.>"
ambiguous = {{ default = "give-up" }}
route = {{ push = ["apns", "fcm"] }}
[class.otp]
subject = "notify.otp.>"
priority = "high"
ambiguous = {{ default = "resend" }}
route = {{ push = ["apns", "fcm"] }}
[class.beta]
subject = "notify.beta.>"
ambiguous = {{ default = "give-up" }}
route = {{ push = ["apns_old_key"] }}
"""

# By the end of the token: what the provider does with it.
GOOD, GONE, LARGE, DOUBT, AGAIN, DOWN = "aaaa", "dead", "1a6e", "d0b7", "a9a1", "d0e5"
SCRIPT = f"""
[[rule]]
provider = "apns"
token = "*{GONE}"
status = 410
reason = "Unregistered"
[[rule]]
provider = "apns"
token = "*{LARGE}"
per_token = true
nth = [1]
status = 413
reason = "PayloadTooLarge"
[[rule]]
provider = "apns"
token = "*{DOUBT}"
per_token = true
nth = [1]
reset = "INTERNAL_ERROR"
processed = true
[[rule]]
token = "*{AGAIN}"
per_token = true
nth = [1]
reset = "REFUSED_STREAM"
processed = false
[[rule]]
token = "*{DOWN}"
per_token = true
nth = [1]
status = 503
reason = "ServiceUnavailable"
[[rule]]
provider = "fcm"
probability = 0.2
delay = "250ms"
"""


class World:
    """Everything but the browser, below one directory."""

    def __init__(self, binaries, directory):
        self.bin, self.dir = binaries, directory
        self.processes = []
        self.nats = self.daemon = None

    def begin(self):
        directory = self.dir
        (directory / "nats.conf").write_text(f'jetstream {{ store_dir: "{directory}/nats" }}\n')
        self.start("nats", ["nats-server", "-a", "127.0.0.1", "-p", "-1", "--ports_file_dir",
                            directory, "-c", directory / "nats.conf"])
        self.nats = wait_for("nats-server", self.nats_port)
        (directory / "script.toml").write_text(SCRIPT)
        self.start("provider", [self.bin / "sendonce-fakeprov", "--port", "0", "--make-credentials",
                                str(directory / "creds"),
                                "--script", str(directory / "script.toml"),
                                "--apns-topic", "com.example.app"])
        ready = json.loads(wait_for("provider", lambda: self.line_of("provider")))
        (directory / "state").mkdir()
        (directory / "sendonce.toml").write_text(
            CONFIG.format(dir=directory, nats=self.nats, provider=ready["port"]))
        self.sendonce("setup")
        self.daemon = self.start("sendonced", [self.bin / "sendonced", "--config",
                                               str(directory / "sendonce.toml")])
        wait_for("daemon", self.is_ready)

    def start(self, name, command):
        with open(self.dir / f"{name}.log", "wb") as log:
            process = subprocess.Popen([str(part) for part in command], stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def output_of(self, name):
        return (self.dir / f"{name}.log").read_text(errors="replace")

    def line_of(self, name):
        lines = self.output_of(name).split("\n")
        return next((line for line in lines[:-1] if line.startswith("{")), None)

    def nats_port(self):
        """From the file that the server writes when it listens."""
        for file in self.dir.glob("nats-server_*.ports"):
            with contextlib.suppress(ValueError):
                return int(json.loads(file.read_text())["nats"][0].rsplit(":", 1)[1])
        return None

    def sendonce(self, *arguments):
        done = subprocess.run([self.bin / "sendonce", "--config", self.dir / "sendonce.toml",
                               *arguments], capture_output=True, text=True, timeout=60, check=False)
        if done.returncode not in (0, 1):  # 1: there is none yet
            sys.exit(f"page_test: sendonce {arguments}: {done.stdout}{done.stderr}")
        return done.stdout

    def is_ready(self):
        done = subprocess.run([self.bin / "sendonce", "--config", self.dir / "sendonce.toml",
                               "--json", "status"], capture_output=True, text=True, timeout=60,
                              check=False)
        return done.returncode == 0 and json.loads(done.stdout)["state"] == "ready"

    def objects(self, *arguments):
        return [json.loads(line) for line in self.sendonce("--json", *arguments).splitlines()
                if line.startswith("{")]

    def publish(self, events):
        """(class, event, provider, token) each, by the protocol of NATS itself."""
        with socket.create_connection(("127.0.0.1", self.nats), PATIENCE) as s:
            s.sendall(b'CONNECT {"verbose":false}\r\n')
            for message_class, event, provider, token in events:
                body = json.dumps({
                    "event_id": event, "recipient": f"user-{event}", "channel": "push",
                    "template": "t", "notification": {"title": "T", "body": "B"},
                    "targets": [{"provider": provider, "token": token, "ref": f"phone-{event}"}],
                }).encode()
                s.sendall(b"PUB notify.%s.x %d\r\n%s\r\n" % (message_class.encode(), len(body),
                                                            body))
            s.sendall(b"PING\r\n")
            text = b""
            while b"PONG" not in text:
                text += s.recv(4096)

    def print_last_words(self):
        for log in sorted(self.dir.glob("*.log")):
            print(f"--- {log.name}\n{log.read_text(errors='replace')[-2000:]}")

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def token(number, kind):
    return f"{number:060x}{kind}"


def event(number):
    """Most go well; some do not."""
    message_class = "otp" if number % 3 == 0 else "orders"
    provider = "fcm" if number % 2 == 0 else "apns"
    kind = GOOD
    if number % 14 < 2:  # a 503 is doubt, which `orders` would not repeat
        kind = DOWN if message_class == "otp" else AGAIN
    elif provider == "apns" and number % 20 == 7:
        kind = GONE
    return message_class, f"e{number}", provider, token(number, kind)


def first_events():
    return [event(n) for n in range(300)] + [
        *(("orders", f"doubt-{n}", "apns", token(5000 + n, DOUBT)) for n in range(4)),
        *(("orders", f"large-{n}", "apns", token(6000 + n, LARGE)) for n in range(3)),
        *(("beta", f"beta-{n}", "apns_old_key", token(7000 + n, GOOD)) for n in range(3)),
        ("orders", "e1", "apns", token(1, GOOD)),  # a duplicate
    ]


def trickle(world, ended):
    """So that the charts have something to show while the page is looked at."""
    number = 10_000
    while not ended.wait(0.25):
        world.publish([event(n) for n in range(number, number + 4 + number % 7)])
        number += 12


def serve_stranger():
    """A page of somebody else on this machine: the same site to a cookie, another origin."""
    class Quiet(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>stranger</title>")

        def log_message(self, *_):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def row_of(world, what):
    return world.objects("inspect", what)[0]


def run(world, options, playwright):
    world.publish(first_events())
    wait_for("unknown rows", lambda: len(world.objects("list", "--state", "unknown")) == 4)
    wait_for("letters", lambda: len(world.objects("dlq", "list")) >= 3)
    devices = wait_for("devices", lambda: world.objects("device", "list", "--state", "invalid"))
    world.start("page", [world.bin / "sendonce", "--json", "--config",
                         world.dir / "sendonce.toml", "page"])
    url = json.loads(wait_for("page", lambda: world.line_of("page")))["url"]
    stranger = serve_stranger()
    ended = threading.Event()
    busy = threading.Thread(target=trickle, args=(world, ended))
    busy.start()
    try:
        told = {"url": url, "chromium": options.chromium, "playwright": str(playwright),
                "stranger": f"http://127.0.0.1:{stranger.server_address[1]}/",
                "device": devices[0]["hash"], "daemon": world.daemon.pid,
                "screenshots": options.screenshots and os.path.abspath(options.screenshots)}
        script = pathlib.Path(__file__).with_name("page_test.mjs")
        code = subprocess.run(["node", script, json.dumps(told)], check=False).returncode
    finally:
        ended.set()
        busy.join()
        stranger.shutdown()
    return code


def check(what, found, wanted):
    print(f"{'ok' if found == wanted else 'FAILED'}: {what}")
    if found != wanted:
        sys.exit(f"page_test: {what}: {found!r}, wanted {wanted!r}")


def expect_decided(world):
    """What the page has done stands in the log, with its reason and the name of the user."""
    log = world.output_of("sendonced")
    check("a resolve is logged with its reason", "seen in the customer's app" in log, True)
    check("a replay is logged", log.count("replayed by"), 1)
    check("a stranger has paused nothing", "admin.paused" in log, False)


def playwright_in(folder):
    if not folder:
        return None
    entry = pathlib.Path(folder) / "node_modules" / "playwright-core" / "index.mjs"
    return entry if entry.exists() else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--playwright", default=os.environ.get("SENDONCE_PLAYWRIGHT"))
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    parser.add_argument("--screenshots")
    options = parser.parse_args()
    playwright = playwright_in(options.playwright)
    missing = [text for text, there in (
        ("Chromium (packaging/deps.sh --browser)", options.chromium),
        ("node", shutil.which("node")),
        ("playwright-core (npm install playwright-core; SENDONCE_PLAYWRIGHT names the folder)",
         playwright)) if not there]
    if missing:
        print("not installed: " + ", ".join(missing))
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="sendonce-page-", ignore_cleanup_errors=True) as name:
        world = World(options.bin.resolve(), pathlib.Path(name))
        code = 1
        try:
            world.begin()
            code = run(world, options, playwright)
            if code == 0:
                expect_decided(world)
            return code
        finally:
            world.stop()
            if code != 0:
                world.print_last_words()


if __name__ == "__main__":
    sys.exit(main())

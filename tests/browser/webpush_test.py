#!/usr/bin/env python3
"""Whether examples/webpush shows each notification once, in a real Chromium.

webpush_test.py ROOT [--chromium PROGRAM]

Serves the example on loopback, gives pushes to its service worker over the DevTools protocol
(ServiceWorker.deliverPushMessage), and looks at what the browser shows. Exits 77, which ctest calls
skipped, when Chromium or python3-websocket is not installed (packaging/deps.sh --browser).
"""

import argparse
import functools
import http.server
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.request

from waiting import PATIENCE, wait_for

SKIPPED = 77

try:
    import websocket
except ImportError:
    print("python3-websocket is not installed: packaging/deps.sh --browser")
    sys.exit(SKIPPED)


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve(directory):
    handler = functools.partial(QuietHandler, directory=str(directory))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Browser:
    """A headless Chromium with a profile of its own."""

    def __init__(self, program, profile):
        arguments = [program, "--headless=new", "--remote-debugging-port=0", "--no-first-run",
                     "--remote-allow-origins=*", "--disable-gpu", "--disable-dev-shm-usage",
                     "--disable-background-networking", f"--user-data-dir={profile}"]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")  # its sandbox refuses root; the page is ours
        self.process = subprocess.Popen(arguments + ["about:blank"], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        port_file = pathlib.Path(profile) / "DevToolsActivePort"
        lines = wait_for("DevTools port",
                         lambda: port_file.exists() and port_file.read_text().split())
        self.address = f"127.0.0.1:{lines[0]}"

    def page(self):
        def first():
            with urllib.request.urlopen(f"http://{self.address}/json/list", timeout=10) as answer:
                return [t for t in json.load(answer) if t["type"] == "page"]
        return Session(wait_for("page", first)[0]["webSocketDebuggerUrl"])

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Session:
    """Commands of the DevTools protocol to one page, and the events that come meanwhile."""

    def __init__(self, url):
        self.socket = websocket.create_connection(url, timeout=PATIENCE)
        self.ids = itertools.count(1)
        self.registrations = {}

    def send(self, method, **params):
        number = next(self.ids)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            said = json.loads(self.socket.recv())
            if said.get("method") == "ServiceWorker.workerRegistrationUpdated":
                for r in said["params"]["registrations"]:
                    self.registrations[r["scopeURL"]] = r["registrationId"]
            if said.get("id") != number:
                continue
            if "error" in said:
                sys.exit(f"webpush_test: {method}: {said['error']['message']}")
            return said["result"]

    def evaluate(self, expression):
        answer = self.send("Runtime.evaluate", expression=expression, awaitPromise=True,
                           returnByValue=True)
        if "exceptionDetails" in answer:
            sys.exit(f"webpush_test: {expression}: {answer['exceptionDetails']['text']}")
        return answer["result"].get("value")


class Example:
    """The example page, ready for pushes."""

    def __init__(self, session, origin):
        self.session, self.origin = session, origin
        session.send("Browser.grantPermissions", origin=origin, permissions=["notifications"])
        session.send("ServiceWorker.enable")
        session.send("Page.enable")
        session.send("Page.navigate", url=origin + "/index.html")
        wait_for("service worker", lambda: session.evaluate(
            "navigator.serviceWorker && navigator.serviceWorker.controller !== null"))

    def push(self, data):
        registration = wait_for("registration", self.registration)
        self.session.send("ServiceWorker.deliverPushMessage", origin=self.origin,
                          registrationId=registration, data=data)

    def registration(self):
        self.session.evaluate("1")  # takes in what has come
        return self.session.registrations.get(self.origin + "/")

    def shown(self):
        return self.session.evaluate("""navigator.serviceWorker.ready
            .then((r) => r.getNotifications())
            .then((all) => all.map((n) => [n.title, n.body, n.tag, n.data]))""")

    def forget(self):
        """As somebody who has read and closed them all."""
        self.session.evaluate("""navigator.serviceWorker.ready
            .then((r) => r.getNotifications()).then((all) => all.forEach((n) => n.close()))""")
        wait_for("empty screen", lambda: self.shown() == [])

    def stop_worker(self):
        """As the browser does after some seconds of silence: the worker's variables are gone."""
        self.session.send("ServiceWorker.stopAllWorkers")

    def titles_after(self, barrier):
        """What is shown once the push `barrier`, sent last, is: those before it have been handled."""
        self.push(notification(barrier, title="barrier " + barrier))
        wait_for("last notification",
                 lambda: any(n[0] == "barrier " + barrier for n in self.shown()))
        return sorted(n[0] for n in self.shown() if not n[0].startswith("barrier"))


def notification(nid, **rest):
    """As docs/formats.md, "What a browser gets", has it."""
    return json.dumps({"nid": nid, **rest})


FIRST = "07a0c3d6-ea62-841a-9caa-4b1affed4f03"
OTHER = "6a2f41a3-c54c-8ce8-b2d6-0a7f6f9ad27e"


def check(what, found, wanted):
    print(f"{'ok' if found == wanted else 'FAILED'}: {what}")
    if found != wanted:
        sys.exit(f"webpush_test: {what}: {found!r}, wanted {wanted!r}")


def run(example):
    otp = dict(title="Your code", body="4711", tag="otp", data={"url": "/login"})
    example.push(notification(FIRST, **otp))
    wait_for("notification", example.shown)
    check("it is shown as it was sent", example.shown(),
          [["Your code", "4711", "otp", {"url": "/login"}]])

    example.forget()
    example.push(notification(FIRST, **otp))
    check("a second copy is not shown", example.titles_after("a"), [])

    example.stop_worker()
    example.push(notification(FIRST, **otp))
    check("nor after the worker was stopped", example.titles_after("b"), [])

    example.push(notification(OTHER, **otp))
    check("another notification with the same text is", example.titles_after("c"), ["Your code"])

    example.forget()
    for _ in range(5):
        example.push(notification("same-moment", title="At once"))
    check("of five copies at once one is", example.titles_after("d"), ["At once"])

    example.forget()
    example.push("no JSON")
    check("what is no notification of ours says so", example.titles_after("e"), ["New message"])

    example.forget()
    day = 24 * 60 * 60 * 1000
    example.session.evaluate(f"""new Promise((done) => {{
      const open = indexedDB.open("sendonce", 1);
      open.onsuccess = () => {{
        const write = open.result.transaction("shown", "readwrite");
        write.objectStore("shown").put({{ nid: "{FIRST}", at: Date.now() - {day + 1000} }});
        write.oncomplete = () => {{ open.result.close(); done(true); }};
      }};
    }})""")
    example.push(notification(FIRST, **otp))
    check("after its window it is a new one", example.titles_after("f"), ["Your code"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    options = parser.parse_args()
    if options.chromium is None:
        print("Chromium is not installed: packaging/deps.sh --browser")
        return SKIPPED
    server = serve(options.root / "examples" / "webpush")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(options.chromium, profile)
        try:
            run(Example(browser.page(), f"http://127.0.0.1:{server.server_address[1]}"))
        finally:
            browser.stop()
            server.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The programs as a person meets them: what they accept, what they say, how they end.

usage: command_line_test.py BIN_DIRECTORY [unittest arguments]
"""
import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

BIN = pathlib.Path(".")
CONFIG = """config_version = 1
[instance]
state_dir = "{dir}/state"
socket = "{dir}/admin.sock"
[nats]
servers = ["nats://127.0.0.1:1"]
[ledger]
map_size = "64MiB"
[provider.apns]
kind = "apns"
topic = "com.example.app"
auth = {{ team = "TEAM123456", key_id = "KEY1234567", key = "file:{dir}/apns.p8" }}
[provider.other]
kind = "apns"
topic = "com.example.other"
auth = {{ team = "TEAM123456", key_id = "KEY1234567", key = "file:{dir}/apns.p8" }}
[class.orders]
subject = "notify.orders.>"
expires = "24h"
retention = "11d"
ambiguous = {{ default = "give-up" }}
route = {{ push = ["apns"] }}
[class.news]
subject = "notify.news.>"
expires = "24h"
retention = "11d"
key = ["campaign_id", "template"]
ambiguous = {{ default = "give-up" }}
route = {{ push = ["apns", "other"] }}
"""
GATE = """[provider.gate]
kind = "http"
channel = "sms"
endpoint = "https://gate.example.com"
path = "/v1"
json = { to = "{phone}" }
answers = [{ status = "2xx", class = "accepted" }]
"""
TOKEN = "00112233" * 8


class Programs(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="sendonce-cli-")
        self.addCleanup(temporary.cleanup)
        self.dir = pathlib.Path(temporary.name)
        (self.dir / "state").mkdir()
        self.write("apns.p8", subprocess.run(
            ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
            check=True, capture_output=True, text=True).stdout)
        self.configure()

    def write(self, name, text, mode=0o600):
        (self.dir / name).write_text(text)
        (self.dir / name).chmod(mode)
        return str(self.dir / name)

    def configure(self, before="", after=""):
        text = CONFIG.format(dir=self.dir)
        self.assertIn(before, text)
        self.config = self.write("sendonce.toml", text.replace(before, after, 1))

    def run_program(self, program, *args, stdin=""):
        done = subprocess.run([BIN / program, *args], input=stdin, capture_output=True,
                              text=True, timeout=60, check=False)
        return done

    def sendonce(self, *args, stdin=""):
        return self.run_program("sendonce", "--config", self.config, *args, stdin=stdin)

    def expect(self, done, code, *said):
        text = done.stdout + done.stderr
        self.assertEqual(done.returncode, code, text)
        for part in said:
            self.assertIn(part, text)


class CheckConfig(Programs):
    """It says what the daemon would say at its start, with the same exit code."""

    def refused(self, code, *said):
        self.expect(self.sendonce("check-config"), code, *said)
        self.expect(self.run_program("sendonced", "--config", self.config), code, *said)

    def test_good(self):
        self.expect(self.sendonce("check-config"), 0, "no findings")

    def test_junk_key(self):
        self.write("apns.p8", "junk")
        self.refused(78, "sendonce.toml:12:60: error: provider.apns.auth.key: ",
                     "no private key in PEM")
        # Of every provider, not the first alone.
        self.expect(self.sendonce("check-config"), 78, "provider.other.auth.key")

    def test_wrong_ids(self):
        self.configure("TEAM123456", "TEAM")
        self.refused(78, "sendonce.toml:12:17: error: provider.apns.auth.team")
        self.configure("KEY1234567", "KEY-123456")
        self.refused(78, "provider.apns.auth.key_id")

    def test_service_account(self):
        account = self.write("account.json", "{}")
        fcm = f'kind = "fcm"\nauth = {{ service_account = "file:{account}" }}\n'
        old = CONFIG.format(dir=self.dir)
        start = old.index('kind = "apns"')
        self.configure(old[start:old.index("[provider.other]")], fcm)
        self.refused(78, "sendonce.toml:11:28: error: provider.apns.auth.service_account: ")

    def test_unreadable_key(self):
        (self.dir / "apns.p8").chmod(0o644)
        self.refused(77, "provider.apns.auth.key", "chmod 0600")
        (self.dir / "apns.p8").unlink()
        self.refused(78, "provider.apns.auth.key", "cannot be opened")

    def test_ca_file(self):
        ca = self.write("ca.pem", "no certificate")
        self.configure('topic = "com.example.app"\n',
                       f'topic = "com.example.app"\ntls = {{ ca = "{ca}" }}\n')
        self.expect(self.sendonce("check-config"), 78, "provider.apns.tls.ca")

    def test_json(self):
        out = json.loads(self.sendonce("check-config", "--json").stdout)
        self.assertTrue(out["usable"])
        self.assertEqual([c["name"] for c in out["classes"]], ["orders", "news"])
        self.write("apns.p8", "junk")
        done = self.sendonce("check-config", "--json")
        self.assertEqual(done.returncode, 78)
        found = json.loads(done.stdout)["findings"][0]
        self.assertEqual((found["line"], found["field"]), (12, "provider.apns.auth.key"))

    def test_rate(self):
        for rate in (["--rate", "-5"], ["--rate=0"], ["--rate", "nan"], ["--rate", "x"]):
            self.expect(self.sendonce("check-config", *rate), 64, "--rate")

    def test_other_commands_leave_warnings_to_it(self):
        self.configure('expires = "24h"', 'expires = "24h"\nrate = "1000/s"')
        self.expect(self.sendonce("check-config"), 0, "ledger.map_size")
        self.assertNotIn("map_size", self.sendonce("status").stderr)

    def test_credentials_of_nats(self):
        self.configure("[ledger]", 'credentials = "file:/no/such.creds"\n[ledger]')
        for command in (["setup"], ["tail"],
                        ["publish", "orders", "--event", "e", "--recipient", "u", "--template", "t",
                         "--provider", "apns", "--token", TOKEN]):
            self.expect(self.sendonce(*command), 78, "nats.credentials")


class Publish(Programs):
    """Nothing leaves that the daemon could only dead-letter. Without a server, what is good ends as
    unavailable (69)."""

    GOOD = ["--event", "e1", "--recipient", "u1", "--template", "t", "--provider", "apns",
            "--token", TOKEN, "--title", "T"]

    def publish(self, *args, name="orders", stdin=""):
        return self.sendonce("publish", name, *args, stdin=stdin)

    def changed(self, option, value):
        args = list(self.GOOD)
        args[args.index(option) + 1] = value
        return args

    def test_good(self):
        self.expect(self.publish(*self.GOOD), 69, "cannot connect to nats://127.0.0.1:1")

    def test_what_the_daemon_would_refuse(self):
        self.expect(self.publish(*self.changed("--token", "xyz")), 65, "$.targets[0]", "token")
        self.expect(self.publish(*self.changed("--provider", "apsn")), 65, "$.targets[0]",
                    "route of class orders")
        self.expect(self.publish(*self.changed("--provider", "other")), 65, "$.targets[0]",
                    "route of class orders")
        self.expect(self.publish(*self.changed("--event", "e" * 300)), 65, "$.event_id")
        self.expect(self.publish(*self.GOOD, "--body", "x" * 4090), 65, "$.targets[0]", "4096")
        self.expect(self.publish(*self.GOOD, "--expires-at", "2020-01-01T00:00:00Z"), 65,
                    "$.expires_at")
        self.expect(self.publish("--file", "-", stdin="{}"), 65, "nothing was published")

    def test_the_recipe_wants_a_campaign(self):
        self.expect(self.publish(*self.GOOD, name="news"), 65, "campaign_id")
        self.expect(self.publish(*self.GOOD, "--campaign", "c1", name="news"), 69)

    def test_unchecked(self):
        self.expect(self.publish("--file", "-", "--unchecked", stdin="{}"), 69)
        self.expect(self.publish("--unchecked", "--event", "e1"), 69)

    def test_usage(self):
        self.expect(self.publish("--event", "e1"), 64, "--recipient, --provider, --token",
                    "see sendonce publish --help")
        for option in ("--event", "--token", "--phone", "--campaign", "--data"):
            self.expect(self.publish("--file", "-", option, "x"), 64, "--file", option)
        for first, second in (("--token", "--phone"), ("--phone", "--email"), ("--url", "--email")):
            self.expect(self.publish(first, "x", second, "x"), 64, first, second)

    def test_a_destination_chooses_the_channel(self):
        said = ("--event", "e1", "--recipient", "u1", "--template", "t", "--body", "B")
        for option, value, channel in (("--phone", "+15550100", "sms"),
                                       ("--email", "a@example.com", "email"),
                                       ("--url", "https://example.com/", "webhook")):
            self.expect(self.publish(*said, option, value), 65,
                        f"on the {channel} route of class orders")
        push = 'route = { push = ["apns"] }\n'
        self.configure(push, push.replace(" }", ', sms = ["gate"] }') + GATE)
        self.expect(self.publish(*said, "--phone", "+15550100"), 69, "cannot connect to")
        self.expect(self.publish(*said, "--phone", "+15550100", "--provider", "gate"), 69)
        self.expect(self.publish(*said, "--phone", "+1 555"), 65, "$.targets[0]")

    def test_without_the_credential(self):
        (self.dir / "apns.p8").unlink()
        self.expect(self.publish(*self.GOOD), 69, "tokens and payload are not checked")
        self.expect(self.publish(*self.changed("--provider", "none")), 65, "$.targets[0]")


class WrongCommandLines(Programs):
    def test_every_program_says_who_speaks_and_where_to_read_on(self):
        for program, args, help_of in (
                ("sendonce", [], "sendonce"), ("sendonce", ["status", "--nope"], "sendonce status"),
                ("sendonce", ["list", "--limit", "0"], "sendonce list"),
                ("sendonce", ["bench", "ledger", "--nope"], "sendonce bench ledger"),
                ("sendonced", ["--nope"], "sendonced"), ("sendonced", ["extra"], "sendonced"),
                ("sendonce-fakeprov", ["--nope"], "sendonce-fakeprov")):
            done = self.run_program(program, *args)
            self.expect(done, 64)
            self.assertEqual(done.stdout, "")
            self.assertTrue(done.stderr.startswith(program + ": "), done.stderr)
            self.assertTrue(done.stderr.endswith(f"\nsee {help_of} --help\n"), done.stderr)

    def test_an_unknown_command(self):
        self.expect(self.sendonce("statsu"), 64, "there is no command statsu, did you mean status?")

    def test_json_where_there_is_none(self):
        for command in ("setup", "demo", "version"):
            self.expect(self.sendonce(command, "--json"), 64, "--json")

    def test_versions(self):
        for program in ("sendonce", "sendonced", "sendonce-fakeprov"):
            done = self.run_program(program, "--version")
            self.expect(done, 0)
            self.assertRegex(done.stdout, rf"^{program} \d+\.\d+\.\d+\n$")


class Remedies(Programs):
    def test_nobody_listens(self):
        done = self.sendonce("status")
        self.expect(done, 69, "admin.sock", "is sendonced running?")
        self.assertNotIn("--offline", done.stderr)
        self.expect(self.sendonce("inspect", "e1"), 69, "--offline")

    def test_who_decides_says_why(self):
        self.expect(self.sendonce("dlq", "replay"), 64, "--all")
        self.expect(self.sendonce("dlq", "replay", "1", "--all"), 64, "not both")
        self.expect(self.sendonce("dlq", "replay", "1", "--force"), 64, "--reason")
        self.expect(self.sendonce("dlq", "drop", "1"), 64, "--reason")
        self.expect(self.sendonce("dlq", "list"), 69, "cannot connect to nats://127.0.0.1:1")
        self.expect(self.sendonce("resolve", "a" * 64, "--as", "failed"), 64, "--reason")
        self.expect(self.sendonce("pause", "orders"), 64, "--reason")
        self.expect(self.sendonce("pause", "orders", "--reason", "x"), 69,
                    "is sendonced running?")

    def test_nats_errors_say_it_once(self):
        done = self.sendonce("tail")
        self.expect(done, 69, "cannot connect to nats://127.0.0.1:1")
        self.assertNotRegex(done.stderr, r"\.c:\d+")

    def test_every_command_that_is_named_exists(self):
        """In error texts and documents, `sendonce X --flag`: the parser knows X and the flag."""
        root = pathlib.Path(__file__).resolve().parents[3]
        files = [root / "README.md", *root.glob("docs/**/*.md"), root / "CHANGELOG.md",
                 root / "config/sendonce.toml"]
        for folder in ("plugin", "ledger", "config", "classifiers", "packaging", "examples"):
            files += [f for f in (root / folder).rglob("*")
                      if f.suffix in (".cpp", ".hpp", ".h", ".sh", ".md", ".service")]
        # "sendonce" alone is the product in prose: there, backquotes make it a command.
        named = re.compile(r"`sendonce ([a-z-]+)((?:\s+[^`\s]+)*)`"
                           r"|^ *sendonce ([a-z-]+)((?: +(?:\\\n)?[^\n#>|&;]+)?)", re.MULTILINE)
        helps, seen = {}, 0
        for file in files:
            text = re.sub(r'"\n\s*"', "", file.read_text())
            for match in named.finditer(text):
                command = match[1] or match[3]
                if match[3] and file.suffix != ".md":
                    continue
                if match[3] and not self.in_code(text, match.start()):
                    continue
                rest = match[2] or match[4] or ""
                if command in ("bench", "device", "dlq"):
                    command += " " + (rest.split() or [""])[0]
                if command not in helps:
                    helps[command] = self.run_program("sendonce", *command.split(), "--help")
                self.assertEqual(helps[command].returncode, 0, f"{file}: {match[0]}")
                for flag in re.findall(r"--[a-z][a-z-]*", rest):
                    self.assertTrue(flag in helps[command].stdout or flag in ("--config", "--json"),
                                    f"{file}: {match[0]}")
                seen += 1
        self.assertGreater(seen, 15)

    @staticmethod
    def in_code(text, at):
        return text.count("```", 0, at) % 2 == 1


class Page(Programs):
    def test_a_port_that_is_taken(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = str(taken.getsockname()[1])
            done = self.sendonce("page", "--port", port)
            self.expect(done, 1, f"cannot listen on 127.0.0.1 port {port}")
            self.assertEqual(done.stdout, "", "no address of somebody else")

    def test_a_port_that_is_none(self):
        self.expect(self.sendonce("page", "--port", "65536"), 64, "--port")


class Doctor(Programs):
    def test_finds_what_is_not_there(self):
        done = self.sendonce("doctor", "--json", "--no-providers")
        self.assertEqual(done.stderr, "")
        report = json.loads(done.stdout)
        self.assertFalse(report["healthy"])
        self.assertEqual(set(report), {"healthy", "green", "yellow", "red", "checks"})
        red = {c["check"]: c for c in report["checks"] if c["health"] == "red"}
        self.assertEqual(set(red), {"ledger", "daemon", "nats"})
        for check in report["checks"]:
            self.assertEqual(set(check), {"check", "object", "health", "text", "repair"})
            self.assertEqual(check["health"] == "green", not check["repair"], check)
        self.assertEqual(list((self.dir / "state").iterdir()), [], "it makes nothing")
        self.assertEqual(done.returncode, 65)  # of the first red line: there is no ledger

    def test_a_file_that_cannot_be_read(self):
        self.configure("config_version = 1", "config_version = 1\n[nonsense]")
        self.expect(self.sendonce("doctor"), 78, "red ", "sendonce.toml:2", "repair: $EDITOR +2")

    def test_a_key_that_is_none(self):
        self.write("apns.p8", "junk")
        self.expect(self.sendonce("doctor", "--no-providers"), 78,
                    "credential provider.apns.auth.key", f"install -m 0600 -o sendonce NEW_FILE "
                    f"{self.dir}/apns.p8", "sendonce --config")

    def test_a_provider_that_does_not_speak_tls(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            threading.Thread(target=self.answer_nonsense, args=(server,), daemon=True).start()
            at = f'endpoint = "https://127.0.0.1:{server.getsockname()[1]}"'
            push = 'route = { push = ["apns"] }\n'
            text = CONFIG.format(dir=self.dir).replace('kind = "apns"', f'kind = "apns"\n{at}')
            text = text.replace(push, push.replace(" }", ', sms = ["gate"] }'), 1)
            self.write("sendonce.toml", text)
            (self.dir / "conf.d").mkdir()
            part = self.write("conf.d/gate.toml", "# The gate.\n" +
                              GATE.replace('endpoint = "https://gate.example.com"', at))
            done = self.sendonce("doctor", "--json")
        found = {c["object"]: c for c in json.loads(done.stdout)["checks"]
                 if c["check"] == "provider"}
        self.assertIn("does not speak TLS", found["gate"]["text"])
        self.assertEqual(found["gate"]["repair"],
                         [f"$EDITOR +2 {part}   # [provider.gate] endpoint, version, proxy, tls.ca",
                          "systemctl restart sendonced"])

    @staticmethod
    def answer_nonsense(server):
        with contextlib.suppress(OSError):
            while True:
                with server.accept()[0] as client:
                    client.sendall(b"220 hello\r\n")
                    client.recv(4096)

    def test_an_authority_that_ends(self):
        key, ca = self.dir / "ca.key", self.dir / "ca.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=x", "-days", "3",
                        "-keyout", key, "-out", ca], check=True, capture_output=True)
        self.configure('topic = "com.example.app"\n',
                       f'topic = "com.example.app"\ntls = {{ ca = "{ca}" }}\n')
        self.expect(self.sendonce("doctor", "--no-providers"), 65, "yellow", "certificate "
                    "provider.apns.tls.ca", "ends on", "NEW_CA.pem")


if __name__ == "__main__":
    BIN = pathlib.Path(os.path.abspath(sys.argv.pop(1)))
    unittest.main()

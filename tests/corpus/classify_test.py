"""`sendonce classify --jsonl`, as a person runs it: every recorded answer in one go, without naming
a profile. Beside it, a file that adds lines to a built-in table."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
SENDONCE = sys.argv.pop()

EXTENDED = """
[provider.apns]
kind  = "apns"
topic = "com.example.app"
auth  = { team = "TEAM123456", key_id = "KEY1234567", key = "file:/nonexistent" }

[[provider.apns.answers]]
pointer = "/reason"
equals  = ["NewReason", "BadTopic"]
class   = "payload_error"
"""


def classify(lines, *arguments):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    ran = subprocess.run([SENDONCE, "classify", "--jsonl", *arguments], input=text,
                         capture_output=True, text=True, timeout=60, check=False)
    return ran, [json.loads(line) for line in ran.stdout.splitlines()]


def recorded():
    for name in ("responses.jsonl", "profiles.jsonl"):
        for line in (HERE / name).read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


class Classify(unittest.TestCase):
    def test_every_recorded_answer_has_its_class(self):
        lines = list(recorded())
        ran, verdicts = classify(lines)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stderr, "")
        self.assertEqual(len(verdicts), len(lines))
        for line, verdict in zip(lines, verdicts):
            with self.subTest(line=line["id"]):
                self.assertEqual(verdict["id"], line["id"])
                self.assertEqual(verdict["class"], line["expected_class"], verdict)

    def test_a_file_may_add_lines_to_a_built_in_table(self):
        lines = [{"provider": "apns", "http_status": 400, "body": '{"reason":"%s"}' % reason}
                 for reason in ("NewReason", "BadTopic", "BadPriority")]
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(EXTENDED)
            file.flush()
            ran, verdicts = classify(lines, "--profile", file.name)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual([v["class"] for v in verdicts], ["payload_error"] * 3)
        _, verdicts = classify(lines[:2])
        self.assertEqual([v["class"] for v in verdicts], ["payload_error", "config_error"])

    def test_an_unknown_provider_is_told(self):
        ran, _ = classify([{"provider": "smoke", "http_status": 200}])
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("provider must be one of", ran.stderr)


if __name__ == "__main__":
    unittest.main()

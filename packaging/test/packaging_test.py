#!/usr/bin/env python3
"""What can be said of the packages without building them.

usage: packaging_test.py SOURCE_DIRECTORY BUILD_DIRECTORY [unittest arguments]
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(".")
BUILD = pathlib.Path(".")


def output(*command, **more):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True,
                          timeout=60, **more).stdout


def read(path):
    return (SOURCE / path).read_text(encoding="utf-8")


def found(pattern, text):
    match = re.search(pattern, text, re.MULTILINE)
    if match is None:
        raise AssertionError(f"no {pattern}")
    return match.group(1)


def program(name):
    return BUILD / "bin" / name


class Version(unittest.TestCase):
    def test_it_is_the_same_everywhere(self):
        version = found(r"^project\(sendonce VERSION ([\d.]+)", read("CMakeLists.txt"))
        spec = read("packaging/rpm/sendonce.spec")
        debian = read("packaging/debian/changelog")
        self.assertEqual(found(r"^sendonce \(([\d.]+)-", debian), version)
        self.assertEqual(found(r"^Version: +(\S+)", spec), version)
        self.assertEqual(found(r"^\* .* - ([\d.]+)-", spec), version)
        for name in ("sendonce", "sendonced", "sendonce-fakeprov"):
            self.assertIn(version, output(program(name), "--version"))


class Unit(unittest.TestCase):
    unit = "packaging/systemd/sendonced.service"

    def test_the_credentials_of_the_sample_are_passed_on(self):
        sample = re.sub(r"(?m)^#.*", "", read("config/sendonce.toml"))
        named = set(re.findall(r'"cred:([^"]+)"', sample))
        passed = set(re.findall(r"^LoadCredential=(\S+)$", read(self.unit), re.MULTILINE))
        self.assertEqual(named, passed)

    def test_a_stop_may_take_as_long_as_the_sample_drains(self):
        drain = int(found(r'^drain\s*= "(\d+)s"', read("config/sendonce.toml")))
        self.assertGreaterEqual(int(found(r"^TimeoutStopSec=(\d+)s", read(self.unit))), drain + 10)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd here")
    def test_systemd_takes_it_and_finds_it_isolated(self):
        with tempfile.TemporaryDirectory() as directory:
            copy = pathlib.Path(directory) / "sendonced.service"
            text = read(self.unit).replace("/usr/sbin/sendonced", str(program("sendonced")))
            copy.write_text(text.replace("/usr/bin/sendonce ", str(program("sendonce")) + " "))
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], check=False,
                                  capture_output=True, text=True, timeout=60)
            self.assertNotIn("sendonced.service", done.stderr)
            # Tenths: at most 1.5.
            output("systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=15",
                   copy)


class Spec(unittest.TestCase):
    @unittest.skipUnless(shutil.which("rpmspec"), "no rpmspec here")
    def test_it_parses(self):
        output("rpmspec", "--parse", SOURCE / "packaging/rpm/sendonce.spec")


class Debian(unittest.TestCase):
    def test_what_it_points_to_is_there(self):
        self.assertEqual((SOURCE / "debian").resolve(), (SOURCE / "packaging/debian").resolve())
        for path in (SOURCE / "packaging/debian").iterdir():
            self.assertTrue(path.exists(), path)


class Manual(unittest.TestCase):
    def test_it_names_every_option_of_the_daemon(self):
        page = read("packaging/man/sendonced.8.scd").replace("\\", "")
        for option in re.findall(r"(--[a-z-]+)", output(program("sendonced"), "--help")):
            self.assertIn(option, page)

    @unittest.skipUnless(shutil.which("scdoc"), "no scdoc here")
    def test_the_pages_are_made_and_whole(self):
        page = self.page("sendonce.1")
        for command in json.loads(output(program("sendonce"), "completion", "json"))["commands"]:
            self.assertIn(command["path"], page)
        keys = re.findall(r"^\| `([a-z_.]+)` \|", read("docs/configuration.md"), re.MULTILINE)
        self.assertGreater(len(keys), 50)
        config = self.page("sendonce.toml.5")
        self.assertEqual([key for key in keys if key not in config], [])
        self.assertIn("*.domain", config)
        for name in ("sendonce-fakeprov.1", "sendonce-provider-check.1", "sendonce-provider.7",
                     "sendonced.8", "libsendonce.3"):
            self.assertIn("SEE ALSO", self.page(name))

    @staticmethod
    def page(name):
        """As text, without what troff needs."""
        text = (BUILD / "packaging" / name).read_text(encoding="utf-8")
        return text.replace("\\&", "").replace("\\fB", "").replace("\\fR", "").replace("\\-", "-")


def options_in_help(path):
    """From what people read, not from the data under test."""
    text = output(program("sendonce"), *path.split()[1:], "--help").split("\n\nexample:")[0]
    head = re.compile(r"^\s{0,4}((?:-\w,)?--[a-z-]+)", re.MULTILINE)
    return {n for names in head.findall(text) for n in names.split(",")}


class Completion(unittest.TestCase):
    """It must offer what --help lists, for every command, and nothing else."""

    def setUp(self):
        self.root = json.loads(output(program("sendonce"), "completion", "json"))

    def commands(self, at=None):
        at = at or self.root
        yield at
        for sub in at["commands"]:
            yield from self.commands(sub)

    def offered(self, line):
        script = BUILD / "packaging/sendonce"
        words = line.split(" ")
        return output("bash", "-c", f'. "{script}"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                      '_sendonce; printf "%s\\n" "${COMPREPLY[@]}"', "bash", *words).split()

    def test_every_option_and_command(self):
        seen = list(self.commands())
        self.assertGreater(len(seen), 12)
        everywhere = options_in_help("sendonce") - {"--version", "--help", "-h"}
        for command in seen:
            said = options_in_help(command["path"])
            known = {n for o in command["options"] for n in o["names"]}
            self.assertEqual(known, said, command["path"])
            offered = {w for w in self.offered(command["path"] + " -") if w.startswith("-")}
            self.assertEqual(offered, said | everywhere, command["path"])
            subs = [sub["path"].split()[-1] for sub in command["commands"]]
            for sub in subs:
                self.assertIn(sub, self.offered(command["path"] + " "))

    def test_a_value_is_no_command(self):
        self.assertIn("status", self.offered("sendonce --config bench "))
        self.assertEqual(self.offered("sendonce list --state "), [])
        self.assertEqual(self.offered("sendonce completion f"), ["fish"])

    def test_the_shells_read_it(self):
        for shell, file in (("bash", "sendonce"), ("zsh", "_sendonce"), ("fish", "sendonce.fish")):
            if shutil.which(shell):
                output(shell, "-n", BUILD / "packaging" / file)

    @unittest.skipUnless(shutil.which("fish"), "no fish here")
    def test_fish_offers_commands_and_options(self):
        def ask(line):
            text = output("fish", "--no-config", "-c",
                          f"source {BUILD}/packaging/sendonce.fish; complete -C '{line}'")
            return {row.split("\t")[0] for row in text.splitlines()}
        self.assertEqual(ask("sendonce bench "), {"ledger", "pipeline", "transport"})
        self.assertIn("--scope", ask("sendonce list --s"))
        self.assertNotIn("--scope", ask("sendonce publish --s"))


if __name__ == "__main__":
    SOURCE, BUILD = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])

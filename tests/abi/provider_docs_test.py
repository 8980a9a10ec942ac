#!/usr/bin/env python3
"""Follows docs/providers.md to the letter, its first example and "A provider in C":
provider_docs_test.py ROOT BIN."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

INSTALLED = "/usr/lib/sendonce/gate.so"
SECRET = "/etc/sendonce/gate.token"


def section(text, title):
    return re.split(r"(?m)^# ", text.split(f"\n# {title}\n", 1)[1])[0]


def run(command, folder, environment):
    done = subprocess.run(command, shell=True, cwd=folder, env=environment, text=True,
                          capture_output=True, check=False)
    print(f"$ {command}\n{done.stdout}{done.stderr}")
    return done.returncode == 0


def base(folder):
    return (f'config_version = 1\n[instance]\nname = "docs"\nstate_dir = "{folder}"\n'
            '[ledger]\nmap_size = "1GiB"\n')


def first_example(text, programs):
    """The configuration is good, and the answer is judged as it stands there."""
    config = re.search(r"```toml\n(.*?)```", text, re.DOTALL)[1]
    answer, verdict = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        secret = folder / "pigeon.key"
        secret.write_text("a-key\n", encoding="utf-8")
        secret.chmod(0o600)
        part = folder / "conf.d/pigeon.toml"
        part.parent.mkdir()
        part.write_text(config.replace("/etc/sendonce/pigeon.key", str(secret)), encoding="utf-8")
        (folder / "sendonce.toml").write_text(base(name), encoding="utf-8")
        environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
        if not run("sendonce --config sendonce.toml check-config", folder, environment):
            return False
        done = subprocess.run([f"{programs}/sendonce", "classify", "--jsonl", "--profile", part],
                              input=answer, text=True, capture_output=True, check=False)
        print(done.stdout + done.stderr)
        return done.stdout == verdict


def main():
    root, programs = Path(sys.argv[1]), sys.argv[2]
    document = (root / "docs/providers.md").read_text(encoding="utf-8")
    if not first_example(document.split("\n## ")[0], programs):
        return 1
    text = section(document, "A provider in C")
    commands = re.findall(r"(?m)^    \$ (.+)$", text)
    config = re.search(r"```toml\n(.*?)```", text, re.DOTALL)[1]
    if [c.split()[0] for c in commands] != ["cc", "sendonce-provider-check", "sendonce"]:
        print(f"the steps are not those that this test knows: {commands}")
        return 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(root / "examples/provider-c/gate.c", folder)
        secret = folder / "gate.token"
        secret.write_text("a-token\n", encoding="utf-8")
        secret.chmod(0o600)
        for where, here in ((INSTALLED, folder / "gate.so"), (SECRET, secret)):
            if where not in config:
                print(f"the configuration does not name {where}")
                return 1
            config = config.replace(where, str(here))
        (folder / "sendonce.toml").write_text(base(name) + config, encoding="utf-8")
        # Installed headers stand where the compiler looks by itself.
        environment = {**os.environ, "CPATH": str(root / "plugin/include"),
                       "PATH": f"{programs}:{os.environ['PATH']}"}
        commands[2] = commands[2].replace("sendonce ", "sendonce --config sendonce.toml ")
        return 0 if all(run(c, folder, environment) for c in commands) else 1


if __name__ == "__main__":
    sys.exit(main())

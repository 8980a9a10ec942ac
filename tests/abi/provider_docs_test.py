#!/usr/bin/env python3
"""Follows "A provider in C" of docs/providers.md to the letter: provider_docs_test.py ROOT BIN."""

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


def main():
    root, programs = Path(sys.argv[1]), sys.argv[2]
    text = section((root / "docs/providers.md").read_text(encoding="utf-8"), "A provider in C")
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
        (folder / "sendonce.toml").write_text(
            'config_version = 1\n[instance]\nname = "docs"\nstate_dir = "' + name + '"\n'
            + '[ledger]\nmap_size = "1GiB"\n' + config, encoding="utf-8")
        # Installed headers stand where the compiler looks by itself.
        environment = {**os.environ, "CPATH": str(root / "plugin/include"),
                       "PATH": f"{programs}:{os.environ['PATH']}"}
        commands[2] = commands[2].replace("sendonce ", "sendonce --config sendonce.toml ")
        return 0 if all(run(c, folder, environment) for c in commands) else 1


if __name__ == "__main__":
    sys.exit(main())

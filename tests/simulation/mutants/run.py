#!/usr/bin/env python3
"""Tests the simulator: breaks the code in one place at a time, and sees whether a law notices."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
EX_SOFTWARE, EX_CANTCREAT = 70, 73
EXAMPLES = """\
examples:
  tests/simulation/mutants/run.py                       all of them, against the fixed set
  tests/simulation/mutants/run.py --only 08 --seeds 500
  tests/simulation/mutants/run.py --list

Exit: 0 each is caught, or shown to change nothing (equivalents.md); 70 one survived.
"""


def quiet(command, cwd, log, timeout=None):
    with open(log, "ab") as out:
        return subprocess.run(command, cwd=cwd, stdout=out, stderr=out, timeout=timeout,
                              check=False).returncode


class Bench:
    """A copy of the tree with a build directory of its own; only the simulator is built."""

    def __init__(self, where, jobs):
        self.source = where / "source"
        self.build = where / "build"
        self.log = where / "log"
        self.jobs = jobs
        where.mkdir(parents=True, exist_ok=True)

    def copy_tree(self):
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
        for name in filter(None, listed.stdout.decode().split("\0")):
            origin, copy = ROOT / name, self.source / name
            if not origin.is_file():
                continue
            if copy.is_file() and copy.read_bytes() == origin.read_bytes():
                continue  # keeps its time, and with it its object
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(origin, copy)

    def configure(self):
        command = ["cmake", "-S", str(self.source), "-B", str(self.build), "-G", "Ninja",
                   "-DCMAKE_BUILD_TYPE=", "-DCMAKE_CXX_FLAGS=-O1", "-DSENDONCE_WERROR=OFF",
                   "-DSENDONCE_HARDEN=OFF"]
        if shutil.which("ccache"):  # what a patch is taken back from is not compiled again
            command.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
        return quiet(command, ROOT, self.log) == 0

    def contents_of(self, patch):
        names = re.findall(r"^\+\+\+ b/(\S+)", patch.read_text(encoding="utf-8"), re.MULTILINE)
        return {name: (self.source / name).read_bytes() for name in names}

    def restore(self, contents):
        for name, text in contents.items():
            (self.source / name).write_bytes(text)

    def make(self):
        command = ["ninja", "-C", str(self.build), f"-j{self.jobs}", "sendonce-sim"]
        return quiet(command, ROOT, self.log) == 0

    def apply(self, patch):
        # Without fuzz: a hunk that is put in a place of patch's own choice is another mutant.
        command = ["patch", "-p1", "--quiet", "--no-backup-if-mismatch", "--fuzz=0",
                   "--reject-file=-", "-i", str(patch)]
        return quiet(command, self.source, self.log) == 0

    def play(self, seeds):
        program = self.build / "bin" / "sendonce-sim"
        # A mutant may go round in circles: that is caught as well.
        try:
            done = subprocess.run([str(program), "--seeds", str(seeds), "--rare"],
                                  capture_output=True, timeout=60 + seeds, check=False)
        except subprocess.TimeoutExpired:
            return "no end"
        if done.returncode == 0:
            return None
        text = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
        said = re.search(r"^seed \d+: .*|invariant broken.*", text, re.MULTILINE)
        return said.group(0) if said else f"exit {done.returncode}"


def equivalents():
    """Name -> reason, from the headings of equivalents.md."""
    text = (HERE / "equivalents.md").read_text(encoding="utf-8")
    return set(re.findall(r"^## (\S+)", text, re.MULTILINE))


def try_mutant(bench, patch, seeds, harmless):
    name = patch.stem
    whole = bench.contents_of(patch)
    try:
        if not bench.apply(patch):
            return "BROKEN", "the patch does not apply: the code has changed"
        if not bench.make():
            return "BROKEN", f"does not build, see {bench.log}"
        caught = bench.play(seeds)
    finally:
        bench.restore(whole)
    if caught:
        return "caught", caught
    if name in harmless:
        return "equivalent", "see equivalents.md"
    return "SURVIVED", f"{seeds} seeds hold"


def row_of(name, outcome, why):
    """One line of results.md: what noticed it, and in which seed."""
    said = re.search(r"seed (\d+): (?:BROKEN: )?(?:law (\d+): )?(.*)", why)
    if not said:
        return f"| {name} | {outcome} | | {why} |"
    seed, law, text = said.groups()
    text = re.sub(r"\b[0-9a-f]{8}\b:? ?", "", text)
    return f"| {name} | {'law ' + law if law else 'engine'} | {seed} | {text} |"


def write_table(path, rows):
    path.write_text("# What notices each mutant\n\n"
                    "Written by `run.py --table`: the law that is found broken, and the first seed "
                    "that shows it.\n\n"
                    "| mutant | law | seed | |\n|---|---|---|---|\n" + "\n".join(rows) + "\n",
                    encoding="utf-8")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=15000, help="to be played against each (15000)")
    parser.add_argument("--only", default="", help="those named like one of these: 08,27")
    parser.add_argument("--from", dest="first", default="", help="begin with this one, e.g. 31")
    parser.add_argument("--where", type=pathlib.Path, default=ROOT / "build" / "mutants",
                        help="the copy and its build directory (build/mutants)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--table", type=pathlib.Path, help="write the results there (results.md)")
    parser.add_argument("--list", action="store_true", help="only name them")
    return parser.parse_args()


def main():
    options = parse()
    patches = [p for p in sorted(HERE.glob("*.patch"))
               if any(name in p.stem for name in options.only.split(","))
               and p.stem >= options.first]
    if options.list:
        print("\n".join(p.stem for p in patches))
        return 0
    bench = Bench(options.where, options.jobs)
    bench.copy_tree()
    print("building the simulator", flush=True)
    if not bench.configure() or not bench.make():
        print(f"does not build, see {bench.log}")
        return EX_CANTCREAT
    if broken := bench.play(min(options.seeds, 200)):
        print(f"the code is broken as it is: {broken}")
        return EX_SOFTWARE
    harmless, bad, rows = equivalents(), 0, []
    for patch in patches:
        begun = time.monotonic()
        outcome, why = try_mutant(bench, patch, options.seeds, harmless)
        bad += outcome in ("SURVIVED", "BROKEN")
        rows.append(row_of(patch.stem, outcome, why))
        print(f"{outcome:10} {time.monotonic() - begun:4.0f} s  {patch.stem}: {why}", flush=True)
    if options.table:
        write_table(options.table, rows)
    print(f"{len(patches)} mutants, {bad} not caught")
    return EX_SOFTWARE if bad else 0


if __name__ == "__main__":
    sys.exit(main())

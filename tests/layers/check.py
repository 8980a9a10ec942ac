#!/usr/bin/env python3
"""Checks the tree against the house rules of rules.py. Prints file:line: what and why."""

import argparse
import os
import re
import sys
from pathlib import Path

import rules
import source

CODE = (".c", ".cpp", ".h", ".hpp")
TEXT = (*CODE, ".py", ".sh", ".md", ".toml", ".json", ".jsonl", ".cmake", ".txt", ".yml", ".yaml",
        ".service", ".pml", ".map", ".supp", ".js", ".mjs", ".css", ".html")
SKIP = {".git", ".cache", "__pycache__", "node_modules"}


def walk(root):
    """Every file that belongs to the project, as a path relative to the root."""
    for folder, folders, files in os.walk(root):
        top = Path(folder) == root
        folders[:] = sorted(f for f in folders
                            if f not in SKIP and not (top and f.startswith("build")))
        for name in sorted(files):
            yield (Path(folder) / name).relative_to(root).as_posix()


def is_text(root, path):
    if path.endswith(TEXT):
        return True
    if "." in path.rsplit("/", 1)[-1]:
        return False
    with open(root / path, "rb") as file:
        return file.read(2) == b"#!"


def module_of(path):
    """The file itself or the longest folder of rules.MODULES that holds it, "/*" filled in."""
    if path in rules.MODULES:
        return path, rules.MODULES[path]
    folders = path.split("/")[:-1]
    for depth in range(len(folders), 0, -1):
        folder = "/".join(folders[:depth])
        if folder in rules.MODULES:
            return folder, rules.MODULES[folder]
        parent = "/".join(folders[:depth - 1]) + "/*"
        if parent in rules.MODULES:
            return folder, rules.MODULES[parent]
    return None, ()


class Checker:
    def __init__(self, root):
        self.root = root
        self.found = []
        self.files = list(walk(root))
        self.file_set = set(self.files)
        self.events = {}  # name -> the place that logs it

    def say(self, path, line, text):
        self.found.append((path, line, text))

    def run(self):
        for path in self.files:
            if not is_text(self.root, path) or path.startswith((rules.SELF, *rules.VENDORED)):
                continue
            text = (self.root / path).read_text(encoding="utf-8", errors="replace")
            self.check_sizes(path, text)
            self.check_banned(path, text, raw=True)
            if path.endswith(CODE):
                self.check_banned(path, source.code_only(text), raw=False)
                self.check_includes(path, text)
                self.check_functions(path, text)
            if path.endswith((".c", ".cpp")):
                self.check_listed(path)
            if path.startswith(rules.LIBRARY) and path.endswith(CODE):
                self.collect_events(path, source.without_comments(text))
        self.check_events()
        return sorted(self.found)

    # ---- sizes -------------------------------------------------------------------------------

    def check_sizes(self, path, text):
        lines = text.split("\n")
        limit = rules.MAX_LINES.get(Path(path).suffix)
        if limit is None:
            return
        count = len(lines) - (lines[-1] == "")
        if count > limit:
            self.say(path, limit + 1, f"{count} lines, {limit} is the limit: split the component")
        is_code = path.endswith(CODE)
        bare = source.without_literals(text).split("\n") if is_code else lines
        for number, line in enumerate(lines, 1):
            # A literal that runs over cannot be broken, nor can an address.
            rest = bare[number - 1][rules.MAX_COLUMNS:].strip(' )";,}')
            if rest and "://" not in line:
                self.say(path, number, f"{len(line)} columns, {rules.MAX_COLUMNS} is the limit")

    def check_functions(self, path, text):
        for function in source.functions(text):
            if function.lines > rules.MAX_FUNCTION_LINES:
                self.say(path, function.line,
                         f"{function.name} has {function.lines} lines, "
                         f"{rules.MAX_FUNCTION_LINES} is the limit")

    # ---- words -------------------------------------------------------------------------------

    def check_banned(self, path, text, raw):
        for rule in rules.BANNED:
            if rule.raw != raw or not path.startswith(rule.where) or (
                    rule.unless and path.startswith(rule.unless)):
                continue
            for match in rule.pattern.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                self.say(path, line, f"'{match[0].strip()}': {rule.why}")

    # ---- log events --------------------------------------------------------------------------

    def collect_events(self, path, text):
        for argument in rules.EVENT_ARGUMENT.finditer(text):
            for event in rules.EVENT.finditer(argument[0]):
                line = text.count("\n", 0, argument.start() + event.start()) + 1
                self.events.setdefault(event[1], (path, line))

    def check_events(self):
        document = rules.EVENTS_DOCUMENT
        listed = {}
        if document in self.file_set:
            text = (self.root / document).read_text(encoding="utf-8")
            for match in rules.EVENT_LISTED.finditer(text):
                listed[match[1]] = text.count("\n", 0, match.start()) + 1
        for event in self.events.keys() - listed.keys():
            self.say(*self.events[event], f"event {event} is not in the table of {document}")
        for event in listed.keys() - self.events.keys():
            self.say(document, listed[event], f"nothing logs the event {event}")

    # ---- includes ----------------------------------------------------------------------------

    def check_includes(self, path, text):
        module, allowed = module_of(path)
        if module is None:
            self.say(path, 1, "this folder has no rule in tests/layers/rules.py")
            return
        found = source.includes(text)
        if path.endswith(".hpp") and "#pragma once" not in text:
            self.say(path, 1, "a header begins with #pragma once")
        own = re.sub(r"\.cpp$", ".hpp", path)
        if path.endswith(".cpp") and own in self.file_set and found and found[0].path != own:
            self.say(path, found[0].line, f'include "{own}" first')
        for include in found:
            target = self.resolve(include)
            if target is not None:
                self.check_module(path, module, allowed, include, target)
            elif include.quoted:
                self.say(path, include.line,
                         f'"{include.path}" is no file: write its full path from the root')
            else:
                self.check_foreign(path, include)

    def resolve(self, include):
        for candidate in (include.path, "plugin/include/" + include.path):
            if candidate in self.file_set:
                return candidate
        return None

    def check_module(self, path, module, allowed, include, target):
        seen, _ = module_of(target)
        if seen == module:
            return
        if seen is not None and seen.startswith(rules.TOP) and not module.startswith(
                rules.MAY_SEE_TOP):
            self.say(path, include.line, f"nobody includes {seen}")
            return
        if allowed == rules.EVERYTHING or seen in allowed:
            return
        if path in rules.REGISTRIES and target.startswith(rules.REGISTRIES[path]):
            return
        may = ", ".join(allowed) or "nothing"
        self.say(path, include.line,
                 f"{module} includes {include.path}, of {seen}; it may include: {may}")

    def check_foreign(self, path, include):
        if path.startswith(rules.PURE) and rules.IMPURE_HEADERS.fullmatch(include.path):
            if not any(path.startswith(lib.places) for lib in rules.LIBRARIES
                       if lib.header.match(include.path)):
                self.say(path, include.line,
                         f"<{include.path}>: decisions here do no input, output or threading")
                return
        for lib in rules.LIBRARIES:
            if lib.header.match(include.path):
                if not path.startswith(lib.places):
                    self.say(path, include.line,
                             f"<{include.path}>: {lib.name} is seen by {', '.join(lib.places)} "
                             "only")
                return
        if re.fullmatch(r"[a-z_0-9]+", include.path):
            return
        if not rules.SYSTEM_HEADERS.fullmatch(include.path):
            self.say(path, include.line,
                     f"<{include.path}>: of a library without a rule in tests/layers/rules.py")

    # ---- the build ---------------------------------------------------------------------------

    def check_listed(self, path):
        parts = path.split("/")
        for depth in range(len(parts) - 1, -1, -1):
            lists = "/".join([*parts[:depth], "CMakeLists.txt"])
            if lists in self.file_set and self.names(lists, "/".join(parts[depth:])):
                return
        self.say(path, 1, "no CMakeLists.txt names this file")

    def names(self, lists, relative):
        text = re.sub(r"#.*", "", (self.root / lists).read_text(encoding="utf-8"))
        if re.search(r"(?<![\w./-])" + re.escape(relative) + r"(?![\w.-])", text):
            return True
        # foreach(part decode key) ... ${part}.cpp
        stem, suffix = os.path.splitext(relative)
        return "}" + suffix in text and re.search(
            r"(?<![\w./-])" + re.escape(stem) + r"(?![\w.-])", text) is not None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", default=Path(__file__).resolve().parents[2], type=Path)
    root = parser.parse_args().root.resolve()
    checker = Checker(root)
    found = checker.run()
    for path, line, text in found:
        print(f"{path}:{line}: {text}")
    print(f"layers: {len(checker.files)} files, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

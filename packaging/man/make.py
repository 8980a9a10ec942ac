#!/usr/bin/env python3
"""Makes scdoc sources from what the programs say of themselves, so that nothing is written twice.

usage: make.py commands TEMPLATE < `sendonce completion json`             the page of the commands
       make.py help TEMPLATE     < `PROGRAM --help`                       the page of a program
       make.py config            < `sendonce check-config --reference`    the page of the file
"""
import json
import re
import sys


def plain(text):
    """Text without a meaning to scdoc."""
    return re.sub(r"([\\*_#~`\[\]|<>])", r"\\\1", text)


def inline(text):
    """Markdown within a line: `code` and **strong** become bold, *emphasis* underlined."""
    out = []
    for part in re.split(r"(`[^`]+`|\*\*[^*]+\*\*|\*[^*]+\*)", text):
        if part.startswith("`"):
            out.append("*" + plain(part[1:-1]) + "*")
        elif part.startswith("**"):
            out.append("*" + plain(part[2:-2]) + "*")
        elif part.startswith("*") and len(part) > 1:
            out.append("_" + plain(part[1:-1]) + "_")
        else:
            out.append(plain(part))
    return "".join(out)


# ---- the commands --------------------------------------------------------------------------------

def option_head(option):
    if not option["names"]:
        return f"_{plain(option['label'])}_"
    head = ", ".join(f"*{plain(name)}*" for name in option["names"])
    return f"{head} _{plain(option['label'])}_" if option["takes_value"] else head


def option_lines(option):
    text = plain(option["about"]).rstrip(".") + "."
    if option["choices"]:
        text += " One of " + ", ".join(f"*{plain(c)}*" for c in option["choices"]) + "."
    if option["default"]:
        text += f" Default: *{plain(option['default'])}*."
    return [option_head(option), "\t" + text, ""]


def own_options(command):
    return [o for o in command["options"] if "--help" not in o["names"]]


def synopsis(command):
    words = [f"*{plain(command['path'])}*"]
    words += [option_head(o) for o in command["options"] if not o["names"]]
    if any(o["names"] for o in own_options(command)):
        words.append("\\[options\\]")
    return " ".join(words)


def command_lines(command):
    if command["commands"]:
        lines = []
        for sub in command["commands"]:
            lines += command_lines(sub)
        return lines
    lines = [f"## {command['path'].split(' ', 1)[1]}", "", synopsis(command), "",
             plain(command["about"]).rstrip(".") + ".", ""]
    for option in own_options(command):
        lines += option_lines(option)
    return lines + [f"Example: *{plain(command['example'])}*", ""]


def read(template):
    with open(template, encoding="utf-8") as file:
        return file.read()


def commands_page(template, root):
    text = read(template)
    options = [line for o in own_options(root) for line in option_lines(o)]
    text = text.replace("@OPTIONS@\n", "\n".join(options))
    return text.replace("@COMMANDS@\n", "\n".join(command_lines(root)))


# ---- the configuration ---------------------------------------------------------------------------

CONFIG_HEAD = """sendonce.toml(5) "sendonce" "File formats"

# NAME

sendonce.toml - configuration of sendonced(8) and sendonce(1)

# DESCRIPTION

"""
CONFIG_TAIL = """
# FILES

*/etc/sendonce/sendonce.toml*
\tThe main file.

*/etc/sendonce/conf.d/\\*.toml*
\tRead after it, in the order of their names.

*/etc/credstore/NAME*
\tWhat *cred:NAME* means to the packaged service, for the names in its unit.

# SEE ALSO

sendonce(1), sendonced(8)
"""


def key_lines(row):
    key, kind, default, reload, meaning = re.split(r"(?<!\\) \| ", row.strip("| \n"))
    facts = f"{inline(kind)}; "
    facts += "*mandatory*" if "mandatory" in default else f"default: {inline(default)}"
    if reload == "restart":
        facts += "; a change needs a restart"
    return [f"*{plain(key.strip('`'))}*", f"\t{facts}.", "", f"\t{inline(meaning)}", ""]


def paragraphs(text):
    """Blocks between empty lines; each item of a list is one of its own."""
    block = []
    for line in text.splitlines() + [""]:
        if block and (not line.strip() or line.startswith("* ")):
            yield " ".join(block)
            block = []
        if line.startswith("| ") or line.startswith("|-"):
            yield line
        elif line.strip():
            block.append(line.strip())


def config_page(markdown):
    lines = []
    for block in paragraphs(markdown):
        if block.startswith("# ") or block.startswith("<!--"):
            continue
        if block.startswith("## "):
            lines += ["", "# " + block[3:], ""]
        elif block.startswith("| key ") or block.startswith("|-"):
            continue
        elif block.startswith("| "):
            lines += key_lines(block)
        elif block.startswith("* "):
            lines += ["- " + inline(block[2:])]
        else:
            lines += [inline(block), ""]
    return CONFIG_HEAD + "\n".join(lines) + CONFIG_TAIL


def main():
    if sys.argv[1:2] == ["commands"] and len(sys.argv) == 3:
        sys.stdout.write(commands_page(sys.argv[2], json.load(sys.stdin)))
    elif sys.argv[1:2] == ["help"] and len(sys.argv) == 3:
        sys.stdout.write(read(sys.argv[2]).replace("@HELP@\n", sys.stdin.read().strip() + "\n"))
    elif sys.argv[1:] == ["config"]:
        sys.stdout.write(config_page(sys.stdin.read()))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()

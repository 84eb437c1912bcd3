# SPDX-License-Identifier: BSD-3-Clause
"""Prints the commands of a document, one a line, as LINE<TAB>KIND<TAB>COMMAND: document_commands.py FILE [BEGIN [END]].

With BEGIN and END, only those between these lines. KIND is block for a line of an example, and span for a command in a
sentence or table of a Markdown file. A command that continues on the next line is one line here.
"""
import re
import sys

PROGRAMS = ("plenum plenumd mount umount curl ssh systemctl journalctl apt chmod usermod apparmor_parser nft ip tc ethtool kill dmesg "
            "install export make ./bootstrap").split()


def is_command(text):
    words = text.split()
    return len(words) > 1 and words[0] in PROGRAMS


def example(line):
    """The command of a line of an example, without its prompt, its comment, and the time and user of cron. None: not a command."""
    line = re.sub(r"^([a-z]+-[0-9]+)?[#$] (on \S+: )?", "", line)
    line = re.sub(r"^\* \* \* \* \* root ", "", line)
    line = re.sub(r"\s+#\s.*", "", line).rstrip()
    return line if is_command(line) or line.startswith("./bootstrap") else None


def markdown(lines):
    paragraph, fence = [], None
    for n, line in enumerate(lines + [""], 1):
        if line.startswith("```"):
            fence = None if fence is not None else line[3:]
        elif fence is not None:
            command = example(line) if fence == "console" else None
            if command:
                yield n, "block", command
        elif line.startswith("    "):
            command = example(line.strip())
            if command:
                yield n, "block", command
        elif line and not line.startswith("|"):
            paragraph.append((n, line))
            continue
        text = " ".join(text for _, text in paragraph)
        for span in re.findall(r"`([^`]+)`", text + line if line.startswith("|") else text):
            span = re.sub(r"^sudo ", "", span.strip())
            if is_command(span):
                first = span.split(" ")[0]
                yield next((k for k, t in paragraph if first in t), n), "span", span
        paragraph = []


def manual(lines):
    inside, command, begin = False, "", 0
    for n, line in enumerate(lines, 1):
        if line.startswith(".Bd -literal"):
            inside = True
        elif line.startswith(".Ed"):
            inside = False
        elif inside and (command or re.match(r"[#$] ", line)):
            begin = begin if command else n
            command += line.strip() if command else line
            if re.search(r"(\\\\|\\e|\|)$", command):
                command = re.sub(r"\s*(\\\\|\\e)$", "", command) + " "
                continue
            if example(command):
                yield begin, "block", example(command)
            command = ""


def main():
    lines = open(sys.argv[1], encoding="utf-8").read().split("\n")
    start = lines.index(sys.argv[2]) + 1 if len(sys.argv) > 2 else 0
    end = lines.index(sys.argv[3]) if len(sys.argv) > 3 else len(lines)
    reader = markdown if sys.argv[1].endswith(".md") else manual
    for n, kind, command in reader(lines[start:end]):
        print(n + start, kind, command, sep="\t")


main()

#!/usr/bin/env python3
"""Man pages and the completion for bash, made of what the program's --help says, so that they cannot say anything else.

usage: command_line_files.py PROGRAM OUT     writes OUT/man/deepvoro.1, OUT/man/deepvoro-COMMAND.1, ... and OUT/completion/deepvoro
"""
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

SECTION = re.compile(r"^(\S.*):$")
# "  --flag,-f TYPE=default ...   text"; a long left side has its text on the next line.
ENTRY = re.compile(r"^  \S")
TEXT_COLUMN = 30
NAME = "deepvoro"


@dataclass
class Entry:
    left: str
    text: str

    @property
    def flags(self):
        return re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", self.left.split(" ")[0])

    @property
    def choices(self):
        found = re.search(r":\{([^}]*)\}", self.left)
        return found[1].split(",") if found else []


@dataclass
class Command:
    words: list
    summary: str
    usage: str
    sections: list = field(default_factory=list)  # of (title, entries)
    rest: list = field(default_factory=list)  # lines below them
    subcommands: list = field(default_factory=list)

    @property
    def page(self):
        return "-".join([NAME, *self.words])

    @property
    def options(self):
        return [entry for title, entries in self.sections if title == "Options" for entry in entries]


def is_list_of_commands(title):
    return title not in ("Options", "Positionals", "Studies")


def read_command(program, words=()):
    text = subprocess.run([program, *words, "--help"], check=True, capture_output=True, text=True).stdout
    lines = text.splitlines()
    command = Command(list(words), lines[0], lines[1].removeprefix("Usage: "))
    lines = lines[2:]
    while lines:
        title = SECTION.match(lines[0])
        if title and len(lines) > 1 and ENTRY.match(lines[1]) and not title[1].startswith("Example"):
            entries, lines = [], lines[1:]
            while lines and lines[0]:
                left, text = lines[0].rstrip(), ""
                if left[TEXT_COLUMN - 1 : TEXT_COLUMN] == " " and left[TEXT_COLUMN:] != "...":
                    left, text = left[:TEXT_COLUMN].strip(), left[TEXT_COLUMN:]
                if left:
                    entries.append(Entry(left.strip(), text))
                else:
                    entries[-1].text = f"{entries[-1].text} {text}".strip()
                lines = lines[1:]
            command.sections.append((title[1], entries))
        else:
            command.rest.append(lines[0])
            lines = lines[1:]
    for title, entries in command.sections:
        if is_list_of_commands(title):
            command.subcommands += [read_command(program, (*words, entry.left)) for entry in entries]
    return command


def walk(command):
    yield command
    for sub in command.subcommands:
        yield from walk(sub)


# --- man pages ------------------------------------------------------------------------------------


def escaped(text):
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return "\\&" + text if text[:1] in ".'" else text


def man_entry(title, entry):
    if is_list_of_commands(title):
        return f".TP\n.B {escaped(entry.left)}\n{escaped(entry.text)}"
    flags, _, value = entry.left.partition(" ")
    kind, default = re.match(r"(?:TEXT:)?(\[VIEW=\][^ ]*|[^= ]*)(?:=(\S+))?", value).groups()
    notes = ["required"] if title == "Options" and value.endswith("REQUIRED") else []
    # How many threads there are is up to the machine, not to the one this is made on.
    notes += ["default " + default.strip("[]").replace(",", ", ")] if default and flags != "--threads" else []
    text = entry.text + (f" ({', '.join(notes)})" if notes else "")
    shown = f" \\fI{escaped(kind)}\\fR" if title == "Options" and kind else ""
    return f".TP\n\\fB{escaped(flags.replace(',', ', '))}\\fR{shown}\n{escaped(text)}"


def man_page(command, version):
    titled = " ".join([NAME, *command.words])
    out = [f'.TH {command.page.upper()} 1 "" "{NAME} {version}" "User Commands"',
           ".SH NAME", f"{escaped(command.page)} \\- {escaped(command.summary.rstrip('.'))}",
           ".SH SYNOPSIS", f".B {escaped(command.usage)}"]
    for title, entries in command.sections:
        out.append(f'.SH "{ {"Positionals": "ARGUMENTS"}.get(title, title.upper())}"')
        out += [man_entry(title, entry) for entry in entries]
    examples, prose = [], []
    for line in command.rest:
        if match := re.match(r"^Example: (.*)$", line):
            examples.append(match[1])
        elif line.startswith("  "):
            examples.append(line.strip())
        elif line not in ("Example:", "Examples:"):
            prose.append(line)
    paragraphs = [" ".join(p.split()) for p in "\n".join(prose).split("\n\n") if p.strip()]
    if paragraphs:
        out.append(".SH DESCRIPTION")
        out += [f".PP\n{escaped(p)}" for p in paragraphs]
    if examples:
        out.append(".SH EXAMPLES\n.nf")
        out += [escaped(example) for example in examples]
        out.append(".fi")
    others = [c.page for c in command.subcommands] or ["-".join([NAME, *command.words[:-1]])]
    out.append(".SH SEE ALSO")
    out.append(",\n".join(f".BR {escaped(page)} (1)" for page in others))
    return "\n".join(out).replace(" (1),", " (1) ,") + "\n"


# --- completion -----------------------------------------------------------------------------------


def completion(program):
    commands = list(walk(program))
    out = [f"# Completion of {NAME} for bash: commands, flags, and what flags of few values take; files for all else.",
           "_deepvoro() {",
           "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= i flags= commands= choices=",
           "  for ((i = 1; i < COMP_CWORD; ++i)); do",
           '    case "$command ${COMP_WORDS[i]}" in']
    known = [" ".join(c.words) for c in commands if c.words]
    out.append("      " + " | ".join(f'"{" " if " " not in name else ""}{name}"' for name in known) + ') command="${command:+$command }${COMP_WORDS[i]}" ;;')
    out += ["    esac", "  done", '  case "$command" in']
    for command in commands:
        out.append(f'    "{" ".join(command.words)}")')
        out.append(f'      flags="{" ".join(flag for entry in command.options for flag in entry.flags)}"')
        if command.subcommands:
            out.append(f'      commands="{" ".join(sub.words[-1] for sub in command.subcommands)}"')
        chosen = [(entry.flags, entry.choices) for entry in command.options if entry.choices]
        if chosen:
            out.append('      case "$before" in')
            out += [f'        {" | ".join(flags)}) choices="{" ".join(choices)}" ;;' for flags, choices in chosen]
            out.append("      esac")
        out.append("      ;;")
    out += ["  esac",
            '  if [ -n "$choices" ]; then',
            '    COMPREPLY=($(compgen -W "$choices" -- "$word"))',
            '  elif [[ $word == -* ]]; then',
            '    COMPREPLY=($(compgen -W "$flags" -- "$word"))',
            '  elif [ -n "$commands" ]; then',
            '    COMPREPLY=($(compgen -W "$commands" -- "$word"))',
            "  else",
            "    compopt -o filenames 2>/dev/null",
            '    mapfile -t COMPREPLY < <(compgen -f -- "$word")',
            "  fi",
            "}",
            f"complete -F _deepvoro {NAME}"]
    return "\n".join(out) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    program, out = sys.argv[1], Path(sys.argv[2])
    version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    described = read_command(program)
    for folder in ("man", "completion"):
        (out / folder).mkdir(parents=True, exist_ok=True)
    for command in walk(described):
        (out / "man" / f"{command.page}.1").write_text(man_page(command, version), encoding="utf-8")
    (out / "completion" / NAME).write_text(completion(described), encoding="utf-8")


if __name__ == "__main__":
    main()

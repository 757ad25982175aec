"""The command that a call of a shell tool runs, as sums name it: `git diff`, `pytest`, `npm run`. Pure.

It is read from the one-line summary of the arguments, which is kept with the call. A line of several commands
has the name of the first that does something: not of `cd`, `export`, or a wrapper such as `sudo`.
Cost: one pass over at most 200 characters.
"""

from __future__ import annotations

import re

SHELLS = frozenset(
    "bash sh zsh shell cmd powershell pwsh terminal command execute_bash execute_command exec exec_command "
    "run_command run_in_terminal run_shell_command run_terminal_cmd run_terminal_command shell_command "
    "local_shell container.exec unified_exec developer__shell".split()
)
OTHER = "other"  # a command that cannot be named
_SUB_COMMANDS = frozenset(
    "apt apt-get aws az brew bun bundle cargo composer conda docker docker-compose dotnet flutter gcloud gh "
    "git glab go gradle helm jj just kubectl make mvn npm pip pip3 pnpm podman poetry rails rake rustup svn "
    "systemctl terraform uv yarn".split()
)
_SILENT = frozenset("cd export set source . pushd popd umask unset alias true :".split())
_WRAPPERS = frozenset(
    "sudo env time timeout nohup nice command exec stdbuf npx bunx pnpx xvfb-run caffeinate".split()
)
_RUNNERS = frozenset(
    {("uv", "run"), ("poetry", "run"), ("bundle", "exec"), ("pnpm", "exec"), ("npm", "exec")}
)
_ARGUMENT = re.compile(r"(?:^|, )(?:command|cmd|script): ")
_LIST = re.compile(r'\s*\[\s*"(?:/\S{0,40}/)?(?:ba|z|da)?sh"\s*,\s*"-[a-z]{1,3}"\s*,\s*"')
_PARTS = re.compile(r"&&|\|\||[;|\n]|\\n")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_DURATION = re.compile(r"\d[\d.]*[smh]?")
_WORD = re.compile(r"[A-Za-z][\w.+-]{0,29}")
_SUB_WORD = re.compile(r"[a-z][a-z:-]{0,19}")
_VALUED = frozenset(
    {"-C", "-c", "--prefix", "-n", "--namespace", "-f"}
)  # options with a value before a sub-command


def command_name(tool: str, summary: str) -> str:
    """Return the command of a call of a shell tool, `OTHER` if it has no name; "" for another tool."""
    if tool.lower() not in SHELLS:
        return ""
    return next((name for part in _PARTS.split(_text(summary)) if (name := _name(_words(part)))), OTHER)


def _text(summary: str) -> str:
    """Return the command within the summary of all arguments."""
    found = _ARGUMENT.search(summary)
    text = summary[found.end() :] if found else summary
    return _LIST.sub("", text, count=1)


def _words(part: str) -> list[str]:
    return [word for each in part.split() if (word := each.strip("\"'()[]{},"))]


def _name(words: list[str]) -> str:
    """Return the name of one command, "" if it only prepares for others."""
    while words and (words[0] in _WRAPPERS or _ASSIGNMENT.match(words[0])):
        is_wrapper = words.pop(0) in _WRAPPERS
        while is_wrapper and words and (words[0].startswith("-") or _DURATION.fullmatch(words[0])):
            words.pop(0)
    if not words or words[0] in _SILENT:
        return ""
    program = words[0].rpartition("/")[2]
    if not _WORD.fullmatch(program):
        return OTHER
    rest = words[1:]
    if program.startswith("python") and rest[:1] == ["-m"] and len(rest) > 1 and _WORD.fullmatch(rest[1]):
        return rest[1]
    if rest and (program, rest[0]) in _RUNNERS:
        return _name(rest[1:]) or program
    return f"{program} {sub}" if program in _SUB_COMMANDS and (sub := _sub_command(rest)) else program


def _sub_command(words: list[str]) -> str:
    """Return the sub-command among the words behind a program, "" if there is none."""
    is_value = False
    for word in words:
        if is_value:
            is_value = False
        elif word.startswith("-"):
            is_value = word in _VALUED
        else:
            return word if _SUB_WORD.fullmatch(word) else ""
    return ""

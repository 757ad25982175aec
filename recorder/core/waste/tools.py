"""The kind of a tool call, as far as its name and arguments say: read, wait, act on a screen, or change.

A call that nothing is known of may change anything, so that a call after it is no repetition.
"""

from __future__ import annotations

import re
from typing import Literal

from recorder.core.content.text import clean
from recorder.core.insights.tool_steps import SUBJECT, subject_of
from recorder.core.records import Json

Kind = Literal["read", "wait", "act", "change"]

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_WAIT = frozenset("wait await sleep poll watch monitor delay pause".split())
_WAIT_NAMES = frozenset("bashoutput bash_output taskoutput task_output write_stdin".split())
_ACT = frozenset(
    "act click drag hover key keypress move next play press previous redo roll scroll step swipe tap turn "
    "type undo".split()
)
_CHANGE = frozenset(
    "add append apply build commit create delete deploy edit execute insert install kill make modify mv "
    "patch post publish push put remove rename replace reset run save send set start stop submit test update "
    "upload write".split()
)
_READ = frozenset(
    "cat check describe explain fetch find get glob grep head inspect ls list load look lookup open query "
    "read retrieve search show stat status tail tree view".split()
)
_FILE = frozenset("cat open read view load show get fetch".split())
_COMMANDS = ("command", "cmd", "script")
_WAIT_COMMAND = re.compile(r"\b(?:sleep\s+[\d.]|watch\s|wait\b|--wait\b|--watch\b|--follow\b|tail\s+-[fF])")
_WAIT_ARGUMENT = re.compile(r"wait|timeout|poll|block|until", re.IGNORECASE)
_STATUS = frozenset("check checks get progress result output state status view".split())
_WORK = frozenset(
    "agent batch build ci deploy deployment job operation pipeline process run task workflow".split()
)
_STATUS_COMMAND = re.compile(
    r"\s*(?:gh\s+(?:run|pr\s+checks|workflow)|kubectl\s+(?:get|describe|logs|rollout)|docker\s+(?:ps|logs|inspect)|"
    r"systemctl|journalctl|curl|wget|nc|ping|ps|pgrep|jobs|squeue|nvidia-smi)\b"
)
_GROWING_FILE = re.compile(r"\.(?:err|log|out|pid|status)$|^/(?:dev|proc|sys)/")
_COMPOUND = re.compile(r"[;&|<>`\n]|\$\(")
_READ_PROGRAM = re.compile(
    r"\s*(?:cat|head|tail|nl|wc|ls|pwd|grep|rg|ag|find|tree|file|stat|which|sed\s+-n|du|df|ps|env|date|diff|"
    r"git\s+(?:status|log|diff|show|branch|blame|ls-files|rev-parse|remote\s+-v))(?:\s|$)"
)
_PRINT_PROGRAM = re.compile(r"(?:cat|head|tail|nl|sed\s+-n)\s")
_FILE_NAME = re.compile(r"(?!-)[^\s'\"*?]*[^\W\d][^\s'\"*?]*")
_SCAN_LIMIT = 2_000  # characters of a command that are matched


def kind_of(tool: str, arguments: Json) -> Kind:
    """Return what a call does. A shell command is judged by itself, not by the name of its tool.

    Waiting is also a question for the state of work that goes on elsewhere, and a look at a file that grows.
    """
    command = command_of(arguments)
    words = _words(tool)
    if words & _WAIT or tool.lower() in _WAIT_NAMES or _WAIT_COMMAND.search(command):
        return "wait"
    if (words & _STATUS and (words & _WORK or _waits(arguments))) or _STATUS_COMMAND.match(command):
        return "wait"
    if _GROWING_FILE.search(file_of(tool, arguments)):
        return "wait"
    if command and not _views(command, arguments):
        is_plain = not _COMPOUND.search(command) and "-delete" not in command and "-exec" not in command
        return "read" if is_plain and _READ_PROGRAM.match(command) else "change"
    if words & _ACT:
        return "act"
    is_read = bool(command or (words & _READ and not words & _CHANGE))
    return "read" if is_read else "change"


def file_of(tool: str, arguments: Json) -> str:
    """Return the file that a call reads, at most 300 characters; "" if it reads none."""
    command = command_of(arguments)
    if _views(command, arguments):
        return subject_of(arguments)
    if command:
        last = command.split()[-1]
        prints_file = _PRINT_PROGRAM.match(command) and _FILE_NAME.fullmatch(last)
        return clean(last, SUBJECT) if prints_file and not _COMPOUND.search(command) else ""
    words = _words(tool)
    is_read = words & _FILE and not words & (_CHANGE | _WAIT | _ACT)
    subject = subject_of(arguments) if is_read else ""
    return "" if "://" in subject else subject


def command_of(arguments: Json) -> str:
    """Return the shell command in the arguments of a call, "" if there is none; at most 2,000 characters."""
    if not isinstance(arguments, dict):
        return ""
    for name in _COMMANDS:
        value = arguments.get(name)
        if isinstance(value, list):  # as Codex has it: ["bash", "-lc", command]
            value = (
                value[-1] if len(value) == 3 and str(value[1]).startswith("-") else " ".join(map(str, value))
            )
        if isinstance(value, str):
            return value.strip()[:_SCAN_LIMIT]
    return ""


def _views(command: str, arguments: Json) -> bool:
    """Return whether a command is that of an editor tool that shows a file."""
    return command == "view" and bool(subject_of(arguments))


def _waits(arguments: Json) -> bool:
    return isinstance(arguments, dict) and any(_WAIT_ARGUMENT.search(name) for name in arguments)


def _words(tool: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(tool[:200])}

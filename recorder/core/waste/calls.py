"""Ended calls as the rules take them: what distinguishes calls, results and errors, as hashes."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

from recorder.core.content.messages import text_of
from recorder.core.insights.solutions import error_line, normalize_error
from recorder.core.records import Json
from recorder.core.waste.tools import Kind, file_of, kind_of

KEY = 32  # hexadecimal digits of a hash
TEXT = 20_000  # characters at both ends of arguments in which files are looked for
CUT_STOPS = frozenset({"length", "max_tokens", "maxtokens", "max_output_tokens"})
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True)
# Errors of a look for something: another place is another question.
_SEARCH_ERROR = re.compile(r"no such|not found|n.t found|not exist|n.t exist|no match|unknown", re.IGNORECASE)
_BY_USER = re.compile(r"by (?:the )?user|user (?:doesn|denied|rejected|declined|cancel)", re.IGNORECASE)
_GENERIC = frozenset(
    "a an and by code command error errors exit exited execution fail failed failure for in is of on process "
    "returned run status the to tool was with zero non nonzero".split()
)
_WORDS = re.compile(r"[^\W\d_]{2,}")
LEAST_WORDS = 2  # that say something about an error


class Ref(NamedTuple):
    """A call that may be waste: keys of its turn and tool call (None: the whole turn), and its line."""

    turn: int
    call: int | None
    line: int


@dataclass(frozen=True, slots=True)
class Call:
    """An ended tool call. A hash that is "" means that what it is of was not recorded."""

    ref: Ref
    tool: str
    key: str  # of tool and arguments; the order of keys is irrelevant
    result: str = ""
    error: str = ""  # of tool and normalised error, if it failed
    has_failed: bool = False
    kind: Kind = "change"
    file: str = ""  # that it reads
    text: str = ""  # the ends of its arguments, if it may change files


@dataclass(frozen=True, slots=True)
class Turn:
    """An ended turn. `is_lost`: it failed with usage, and asked for no tool."""

    ref: Ref
    is_cut: bool = False
    is_lost: bool = False


def call_of(ref: Ref, tool: str, arguments: Json, result: Json, *, has_failed: bool) -> Call:
    """Return an ended tool call. Cost: proportional to its arguments and result, which are hashed."""
    canonical = "" if arguments is None else _CANONICAL.encode(arguments)
    key = _hash(tool, canonical) if canonical else ""
    kind = kind_of(tool, arguments)
    return Call(
        ref=ref,
        tool=tool,
        key=key,
        result=_result_key(result),
        error=_error_key(tool, key, result) if has_failed else "",
        has_failed=has_failed,
        kind=kind,
        file=file_of(tool, arguments) if kind == "read" else "",
        text=_ends(canonical) if kind == "change" and not has_failed else "",
    )


def encoded(text: str) -> str:
    """Return a text as it stands within `Call.text`."""
    return _CANONICAL.encode(text)[1:-1]


def is_cut(stop_reason: str) -> bool:
    """Return whether a stop reason, in the words of any provider, is the limit of output tokens."""
    return stop_reason.lower() in CUT_STOPS


def _ends(text: str) -> str:
    return text if len(text) <= 2 * TEXT else text[:TEXT] + "\n" + text[-TEXT:]


def _result_key(result: Json) -> str:
    """Return the hash of what the model sees of a result, "" if that is nothing or was not recorded."""
    content = result.get("content", result) if isinstance(result, dict) else result
    if isinstance(content, list) and not any(_says_something(part) for part in content):
        return ""
    if content in (None, "", {}, []):
        return ""
    return _hash("", _CANONICAL.encode(content))


def _says_something(part: Json) -> bool:
    return (
        part.get("text") not in ("", None) or part.get("type") != "text"
        if isinstance(part, dict)
        else bool(part)
    )


def _error_key(tool: str, key: str, result: Json) -> str:
    """Return the hash of an error; with the arguments, if it says little or something was looked for."""
    text = result if isinstance(result, str) else text_of(result) if isinstance(result, dict) else ""
    line = normalize_error(error_line(text))
    if not line or _BY_USER.search(text[:TEXT]):
        return ""
    words = {word.lower() for word in _WORDS.findall(line)} - _GENERIC
    if len(words) < LEAST_WORDS or _SEARCH_ERROR.search(line):
        return _hash(tool, line, key) if key else ""
    return _hash(tool, line)


def _hash(*parts: str) -> str:
    lengths = " ".join(str(len(part)) for part in parts)
    return sha256("\n".join((lengths, *parts)).encode(errors="surrogatepass")).hexdigest()[:KEY]

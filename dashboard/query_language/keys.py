"""The keys of conditions: the one table that parser, conditions, completion and reference share."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from recorder.core.sources import SOURCES

Type = Literal["text", "choice", "number", "amount", "duration", "time", "boolean"]
Record = Literal["session", "loop", "evaluation", "tool call", "compaction"]

STATES = ("pending", "running", "waiting", "stale")  # of unfinished records
OUTCOMES = ("completed", "failed", "cancelled", "rejected", "limit", "aborted")
ROLES = ("normal", "branch", "judge", "compaction", "sub_agent", "unlisted")
VERDICTS = ("judged", "rule", "fallback", "none")
IS = ("live", "waiting", "wasteful", "bookmarked", "pinned", "mine")
METADATA, SCORE = "metadata.", "score."
NAMED = (METADATA, SCORE)  # families of keys; what follows is a name in the writer's own case


@dataclass(frozen=True, slots=True)
class Key:
    """One key. On a record that is not in `own`, it is that of the session to which the record belongs."""

    name: str
    types: tuple[Type, ...]  # a value has one of these
    meaning: str
    example: str
    own: tuple[Record, ...] = ("session",)
    choices: tuple[str, ...] = ()

    @property
    def is_ordered(self) -> bool:
        """Return whether values may be compared by `>` and `<`."""
        return bool({"number", "amount", "duration"} & set(self.types))

    @property
    def is_text(self) -> bool:
        return "text" in self.types


_OF_TURN: tuple[Record, ...] = ("session", "loop", "evaluation", "compaction")
_CALL: tuple[Record, ...] = ("session", "loop", "tool call")
_EVERY: tuple[Record, ...] = ("session", "loop", "evaluation", "tool call")
_SPENT: tuple[Record, ...] = ("session", "loop", "evaluation")
_LOOP: tuple[Record, ...] = ("session", "loop")

_TABLE = (
    Key(
        "status",
        ("choice",),
        "state as shown: an unfinished state, or how it ended",
        "status:failed",
        _EVERY,
        (*STATES, *OUTCOMES),
    ),
    Key("outcome", ("choice",), "how it ended", "outcome:[failed,limit]", _LOOP, OUTCOMES),
    Key(
        "agent",
        ("text",),
        "agent id, of the start or of a turn",
        "agent:coder",
        ("session", "loop", "compaction"),
    ),
    Key("model", ("text",), "model that answered a turn", "model:claude-opus*", _OF_TURN),
    Key("provider", ("text",), "provider of that model", "provider:anthropic", _OF_TURN),
    Key("config", ("text",), "model config: key, config id or label", "config:opus-4-6", _OF_TURN),
    Key("source", ("choice",), "format in which it was recorded", "source:otlp", choices=SOURCES),
    Key("runtime", ("text",), "program that ran the agent", "runtime:langchain"),
    Key("title", ("text",), "text in the title", "title:migrate", _LOOP),
    Key("id", ("text",), "id of the record", "id:s-2041*", _EVERY),
    Key("session", ("text",), "session id", "session:s-2041"),
    Key("loop", ("text",), "id of a loop", "loop:s-2041.coder.1", _CALL),
    Key("role", ("choice",), "role of a loop", "role:judge", _LOOP, ROLES),
    Key("tool", ("text",), "name of a called tool", "tool:[bash,edit]", _CALL),
    Key("tool.error", ("boolean",), "a tool call failed", "tool.error:true", _CALL),
    Key("tool.arg", ("text",), "text in the arguments of a tool call", 'tool.arg:"rm -rf"', _CALL),
    Key("file", ("text",), "path of a file in the arguments of a tool call", "file:src/app.py", _CALL),
    Key("cost", ("amount",), "cost in dollars", "cost:>1.50", _SPENT),
    Key("tokens", ("number",), "all tokens", "tokens:>100k", _SPENT),
    Key("input", ("number",), "input tokens as reported", "input:>=10k", _SPENT),
    Key("output", ("number",), "output tokens", "output:<500", _SPENT),
    Key("cache", ("number",), "tokens read from or written to a cache", "cache:0", _SPENT),
    Key("turns", ("number",), "number of turns", "turns:>=20", _LOOP),
    Key(
        "loops",
        ("number",),
        "number of loops; of an evaluation, its branches",
        "loops:>1",
        ("session", "evaluation"),
    ),
    Key("tools", ("number",), "number of tool calls", "tools:>50", _LOOP),
    Key("errors", ("number",), "failed tool calls and turns", "errors:>0", _LOOP),
    Key("duration", ("duration",), "time from start to end, or until now", "duration:>90s", _EVERY),
    Key("context", ("number",), "tokens in the context of a loop's last turn", "context:>100k", _LOOP),
    Key("since", ("time",), "active at or after a time, or within a duration", "since:7d", _EVERY),
    Key("until", ("time",), "begun at or before a time", "until:2026-11-01", _EVERY),
    Key("age", ("duration",), "time since the start", "age:<2d", _EVERY),
    Key(
        "branch",
        ("choice", "boolean"),
        "a branch of an evaluation: won, lost, or any",
        "branch:won",
        _LOOP,
        ("won", "lost"),
    ),
    Key(
        "winner",
        ("text",),
        "config or model of the selected branch",
        "winner:opus-4-6",
        ("session", "evaluation"),
    ),
    Key(
        "evaluation",
        ("choice", "boolean"),
        "verdict of an evaluation, or whether there is any",
        "evaluation:judged",
        ("session", "evaluation"),
        VERDICTS,
    ),
    Key("compactions", ("number",), "number of compactions", "compactions:>=1", _LOOP),
    Key("waiting", ("number", "duration"), "open approvals, or how long one waits", "waiting:>5m", _LOOP),
    Key("note", ("text",), "text of a note", "note:flaky", _SPENT),
    Key("bookmark", ("boolean",), "whether there is a bookmark", "bookmark:true", _SPENT),
    Key("parent", ("text",), "session id of the caller", "parent:s-2041"),
    Key("version", ("text",), "metadata `version`", "version:4.1.9"),
    Key("user", ("text",), "metadata `user`", "user:ada"),
    Key("machine", ("text",), "metadata `machine`, the computer", "machine:build-7"),
    Key("tag", ("text",), "tag of a session", "tag:nightly"),
)
_FAMILIES = (
    Key(METADATA, ("text",), "metadata by its name", "metadata.team:core"),
    Key(SCORE, ("number", "text", "boolean"), "score by its name", "score.quality:>=4", _SPENT),
)
# `has:` takes these words besides the keys.
HAS_WORDS = ("error", "parallel", "sub-agent", "compaction", "waste", "score", "metadata")
HAS = Key(
    "has",
    ("choice",),
    "any value of a key",
    "has:compaction",
    _SPENT,
    choices=(
        *HAS_WORDS,
        *(key.name for key in _TABLE if key.name not in ("since", "until", "age")),
    ),
)
IS_KEY = Key("is", ("choice",), "state of a record, or who marked it", "is:waiting", _SPENT, IS)
KEYS: dict[str, Key] = {key.name: key for key in (*_TABLE, *_FAMILIES, HAS, IS_KEY)}


def find(typed: str) -> tuple[str, Key] | None:
    """Return the key as nodes hold it, and its entry; None if there is none."""
    lower = typed.lower()
    for family in NAMED:
        if lower.startswith(family):
            return (family + typed[len(family) :], KEYS[family]) if len(lower) > len(family) else None
    key = KEYS.get(lower)
    return (lower, key) if key else None


def near(typed: str) -> str | None:
    """Return the only key that differs from `typed` by one edit; None if there is none or several."""
    lower = typed.lower()
    found = [name for name in KEYS if name not in NAMED and is_one_edit(lower, name)]
    return found[0] if len(found) == 1 else None


def is_one_edit(typed: str, name: str) -> bool:
    """Return whether one character inserted, deleted, replaced or swapped makes one text of the other."""
    if abs(len(typed) - len(name)) > 1 or typed == name:
        return False
    pairs = zip(typed, name, strict=False)
    start = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    a, b = typed[start:], name[start:]
    return a[1:] == b or a == b[1:] or a[1:] == b[1:] or (a[:2] == b[1::-1] and len(b) > 1 and a[2:] == b[2:])

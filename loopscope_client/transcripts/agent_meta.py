"""The line sent before the transcript of a sub-agent: what files and folders beside it say about it.

Claude Code: the file `agent-ID.meta.json` alone names the call that started the sub-agent, and the sub-agent
that made the call. What never changes of it is in the line, with the run of a workflow that the folder of the
transcript names (`subagents/workflows/RUN`).

pi: the extension `pi-subagents` keeps the transcripts of a run in folders below that of the caller's session:
`<time>_<id of the session>/<id of the run>/run-<number>/`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from loopscope_client.transcripts.open_file import opened

TYPE = "agent-meta"
SIZE_MAX, TEXT_MAX = 64 * 1024, 512  # bytes of the file, characters of a value
_TEXTS = ("toolUseId", "parentAgentId", "agentType", "description")
_DEPTH, _RUN = "spawnDepth", "workflowRunId"
_PI_SESSION, _PI_RUN = re.compile(r"\d{4}-\d\d-\d\dT[\d-]+Z?_(.+)"), re.compile(r"run-\d{1,6}")


def meta_line(agent: str, path: Path, first_line: bytes) -> bytes:
    """Return the line of the transcript of a sub-agent; b"" of another one, or where nothing is beside it."""
    path = path.absolute()  # its folders say where it belongs
    if agent == "pi":
        return _of_pi(path)
    return _of_claude_code(path, first_line) if agent == "claude-code" else b""


def _of_pi(path: Path) -> bytes:
    run, above = path.parent, _PI_SESSION.fullmatch(path.parent.parent.parent.name)
    if above is None or not _PI_RUN.fullmatch(run.name):
        return b""
    found = {"type": TYPE, "sessionId": above[1], "agentId": run.name, "runId": run.parent.name}
    return json.dumps(found, separators=(",", ":")).encode()


def _of_claude_code(path: Path, first_line: bytes) -> bytes:
    agent = path.name.removesuffix(".zst").removesuffix(".gz").removesuffix(".jsonl")
    session = _text(_object(first_line), "sessionId") or _folder(path)
    if not agent.startswith("agent-") or not session:
        return b""
    meta = _meta(path.with_name(f"{agent}.meta.json"))
    found: dict[str, Any] = {name: text for name in _TEXTS if (text := _text(meta, name))}
    depth = meta.get(_DEPTH)
    if isinstance(depth, int) and not isinstance(depth, bool) and 0 <= depth < 1000:
        found[_DEPTH] = depth
    if path.parent.parent.name == "workflows" and (run := _text({_RUN: path.parent.name}, _RUN)):
        found[_RUN] = run
    if not found:
        return b""
    about = {"type": TYPE, "sessionId": session, "agentId": agent.removeprefix("agent-")}
    return json.dumps(about | found, separators=(",", ":")).encode()


def _meta(path: Path) -> dict[str, Any]:
    try:
        with opened(path) as file:
            return _object(file.read(SIZE_MAX + 1))
    except OSError:
        return {}


def _folder(path: Path) -> str:
    """Return the session whose folder a transcript is in; "" if it is in none."""
    above = [*path.parts[:-1]]
    return above[at - 1] if "subagents" in above and (at := above.index("subagents")) else ""


def _text(fields: dict[str, Any], name: str) -> str:
    found = fields.get(name)
    return found if isinstance(found, str) and found.isprintable() and len(found) <= TEXT_MAX else ""


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}

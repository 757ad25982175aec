"""Reader of Claude Code's transcripts: `projects/<folder>/<session>.jsonl` and its sub-agents' files.

A prompt begins a loop. An answer comes on several lines, one for each block, with the same message id and
usage; which block is the last shows only in what follows. So a loop ends with the mark that the agent writes
when it waits for a prompt (`turn_duration`, which `--print` leaves out) or exits (`cost-state`; in older
releases `last-prompt`), else with the next prompt. Recent releases write `last-prompt` at any time, also
before the answer or between two of its blocks. A sub-agent's lines have an `agentId` and the prompt id of the
main agent, whose loop it is below until the result of the tool that ran it names its id: that tool may be a
sub-agent's. In files of older releases they stand among those of the main agent, without an id: the first one
repeats the prompt of the call, and the others follow by `parentUuid`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import cast

from recorder.core.events.fields import is_id
from recorder.core.formats.base import (
    Fields,
    NextLoop,
    Translation,
    object_field,
    parse_time,
    required_id,
    text_field,
)
from recorder.core.formats.transcripts.fields import (
    before,
    call_block,
    loop_id,
    objects,
    plain,
    text_of,
    thinking,
    time_text,
)
from recorder.core.formats.transcripts.open_loop import OpenLoop, Refusal, counts
from recorder.core.ledger.reasons import reason_of
from recorder.core.records import Json

AGENT = "claude-code"
PROVIDER = "anthropic"
_USAGE = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
}
_COMMANDS = ("<command-name>", "<local-command-stdout>", "<command-message>", "Caveat:", "<bash-")
_INTERRUPTED = "[Request interrupted by user"
_TOOL_USE_ERROR = "<tool_use_error>"  # the call was refused before the tool ran
_CANCELLED = "The user doesn't want to take this action right now."  # before the tool ran
_DENIED = (
    "The user doesn't want to proceed with this tool use.",
    "Permission for this tool use was denied.",
    "Permission to use ",
    "Claude requested permissions to ",
)
_UNBOUND = ("summary", "file-history-snapshot", "custom-title", "ai-title")  # may come without a session
TYPES = frozenset(
    (
        *("user", "assistant", "system", "attachment", "last-prompt", "queue-operation"),
        *("mode", "permission-mode", "progress", *_UNBOUND),
        *("api-request", "api-request-blob", "api-request-shape", "atis-latch", "cost-state", "tools-used"),
    )
)


def detects(line: Mapping[str, object]) -> bool:
    """Return whether a line is of Claude Code's transcript."""
    has_session = isinstance(line.get("sessionId"), str) or "leafUuid" in line
    return has_session and line.get("type") in TYPES and "projectHash" not in line


class ClaudeCodeReader:
    """Reads the lines of one file, with an open loop for the main agent ("") and for each sub-agent."""

    def __init__(self, state: Json, _key: str, _next_loop: NextLoop) -> None:
        stored = state if isinstance(state, dict) else {}
        tracks = cast("Fields", stored.get("tracks") or {})
        self._tracks = {name: OpenLoop.load(each) for name, each in tracks.items()}
        self._prompts = cast(
            "dict[str, Fields]", stored.get("prompts") or {}
        )  # by track: waits for an answer
        self._compacting = bool(stored.get("compacting"))
        self._chains = cast("dict[str, str]", stored.get("chains") or {})  # track by uuid, of older releases

    @property
    def state(self) -> Json:
        tracks: Fields = {name: each.dump() for name, each in self._tracks.items()}
        return {
            "tracks": tracks,
            "prompts": cast("Json", self._prompts),
            "compacting": self._compacting,
            "chains": cast("Json", self._chains),
        }

    def read(self, line: Fields, at: datetime) -> Translation:
        """Translate a line. Raises InvalidLineError."""
        kind = text_field(line, "type")
        if "sessionId" not in line and kind in (
            "summary",
            "file-history-snapshot",
            "custom-title",
            "ai-title",
        ):
            return Translation(kind)
        session = required_id(line, "sessionId")
        now, track = time_text(line.get("timestamp"), at), text_field(line, "agentId")
        if line.get("isSidechain") is True and not track:
            track = self._chain(line)
        reading = Translation(kind or "line", session_id=session, timestamp=parse_time(line.get("timestamp")))
        if object_field(line, "forkedFrom"):
            reading.covers = ""
            return reading  # history of the session from which this one was forked
        loop = self._tracks.get(track)
        if kind == "user":
            reading.events = self._user(line, session, track, now)
        elif kind == "assistant":
            reading.events = self._assistant(line, session, track, now)
        elif kind == "system" and line.get("subtype") == "compact_boundary":
            reading.events = self._compaction(line, session, track, now)
        elif loop is not None and loop.is_finished and _marks_end(line, loop):
            reading.events = self._end(track, loop.at)
        elif kind not in TYPES:
            reading.understood = False
        open_loop = self._tracks.get(track) or loop
        reading.loop_id = open_loop.loop_id if open_loop is not None else before(f"{session}{track}")
        return reading

    @property
    def open_loops(self) -> list[OpenLoop]:
        return list(self._tracks.values())

    def repeat(self, line: Fields, _at: datetime) -> Translation:
        """Return the translation of a line that is recorded elsewhere: history, without events.

        Raises InvalidLineError.
        """
        session, track = required_id(line, "sessionId"), text_field(line, "agentId")
        loop = self._tracks.get(track)
        return Translation(
            text_field(line, "type"),
            session_id=session,
            loop_id=loop.loop_id if loop is not None else before(f"{session}{track}"),
            timestamp=parse_time(line.get("timestamp")),
            covers="",
        )

    def continues(self, line: Fields) -> bool:
        """Return whether a line is a further part of the answer that is open in its track."""
        track = text_field(line, "agentId")
        if line.get("isSidechain") is True and not track:
            track = self._chains.get(text_field(line, "parentUuid"), "sidechain")
        loop = self._tracks.get(track)
        return loop is not None and bool(loop.key) and loop.key == _answer_key(line)

    def end_of_stream(self, at: datetime) -> list[Fields]:
        """End the loops whose last answer asked for nothing more; the others are aborted."""
        events: list[Fields] = []
        for track, loop in list(self._tracks.items()):
            if loop.is_finished:
                events += self._end(track, loop.at)
            else:
                events += loop.finish_turn(loop.at or time_text(None, at))
        self._tracks, self._prompts, self._chains = {}, {}, {}
        return events

    def _chain(self, line: Fields) -> str:
        """Return the track of a sub-agent's line without an id: the uuid of the first line of its chain."""
        own, above = text_field(line, "uuid"), text_field(line, "parentUuid")
        track = self._chains.get(above) or own or "sidechain"
        self._chains[own] = track
        return track

    def _user(  # noqa: PLR0911  one arm a kind of message
        self, line: Fields, session: str, track: str, now: str
    ) -> list[Fields]:
        content = object_field(line, "message").get("content")
        results = [block for block in objects(content) if block.get("type") == "tool_result"]
        if results:
            return [event for block in results for event in self._result(line, block, track, now)]
        text = text_of(content)
        loop = self._tracks.get(track)
        if line.get("isCompactSummary") is True:
            return self._summary(track, text, now)
        if line.get("isMeta") is True or not text:
            return []
        if text.startswith(_INTERRUPTED):
            return self._end(track, now, "cancelled") if loop is not None else []
        prompt_id = line.get("promptId") or line.get("uuid")
        held: Fields = {"id": prompt_id, "text": text, "at": now}
        if text_field(line, "agentId") and is_id(line.get("promptId")):
            held["caller"] = loop_id(session, prompt_id)
        if track and track == line.get("uuid"):
            held |= self._caller(text)
        if track or text.lstrip().startswith(_COMMANDS):  # begins a loop only if an answer follows
            self._prompts[track] = held
            return []
        if loop is not None and loop.loop_id == loop_id(session, prompt_id):
            return loop.prompt(text, now)  # steering: a message within the same prompt
        self._prompts[track] = held
        return self._begin(session, track, AGENT, line, now)

    def _begin(self, session: str, track: str, agent: str, line: Fields, now: str) -> list[Fields]:
        """Begin a loop with the prompt that waits, if there is one; end the one before it."""
        previous = self._tracks.get(track)
        events = self._end(track, previous.at) if previous is not None else []
        prompt = self._prompts.pop(track, None)
        name = track or (prompt or {}).get("id") or line.get("uuid")
        loop = self._tracks[track] = OpenLoop(session, loop_id(session, name))
        began = str(prompt["at"]) if prompt is not None else now
        about: Fields = {
            to: found
            for to, name_ in (("cwd", "cwd"), ("version", "version"), ("branch", "gitBranch"))
            if isinstance(found := line.get(name_), str) and found
        }
        caller = (prompt or {}).get("caller")
        more: Fields = {"parent_loop_id": caller, "is_sub_agent": True} if caller else {}
        events += loop.start(agent, began, about, adopts=before(f"{session}{track}"), **more)
        if prompt is not None:
            events += loop.prompt(str(prompt["text"]), began) + self._link(loop, prompt)
        return events

    def _caller(self, prompt: str) -> Fields:
        """Return the id and the agent of the main agent's call that has this prompt."""
        main = self._tracks.get("")
        calls = (block for block in objects(main.blocks if main else []) if block.get("type") == "toolCall")
        call = next((each for each in calls if _argument(each, "prompt") == prompt), None)
        return {"call": call["id"], "agent": _argument(call, "subagent_type")} if call else {}

    def _link(self, loop: OpenLoop, prompt: Fields) -> list[Fields]:
        main, call = self._tracks.get(""), prompt.get("call")
        name = main.tool_name(str(call)) if main is not None and call else ""
        if main is None or not name:
            return []
        return [*main.finish_message(), main.link(str(call), name, loop.loop_id)]

    def _assistant(self, line: Fields, session: str, track: str, now: str) -> list[Fields]:
        message = object_field(line, "message")
        events: list[Fields] = []
        if track not in self._tracks or track in self._prompts:
            events += self._begin(session, track, self._agent(line, track), line, now)
        loop = self._tracks[track]
        is_error = line.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>"
        error = text_of(message.get("content")) if is_error else ""
        key = _answer_key(line) or now
        stop = text_field(message, "stop_reason")
        request = text_field(line, "requestId")
        head = {"provider": PROVIDER, "stop": stop, "error": error, "request": request}
        head["missed"] = reason_of({"message": message})
        blocks = [] if is_error else _blocks(message.get("content"))
        if not is_error:
            head["model"] = text_field(message, "model")
        events += loop.answer(key, now, blocks, **head)
        usage = object_field(message, "usage")
        if usage and not is_error:
            found = counts(usage, _USAGE)
            hour = counts(object_field(usage, "cache_creation"), {"h": "ephemeral_1h_input_tokens"})["h"]
            loop.set_usage(found | {"cache_write_1h": hour})
        if track and loop.is_finished and any(block["type"] == "text" for block in blocks):
            events += self._end(track, now)
        return events

    def _agent(self, line: Fields, track: str) -> str:
        if not track:
            return AGENT
        agent = text_field(self._prompts.get(track, {}), "agent")
        return text_field(line, "attributionAgent") or agent or "sub-agent"

    def _result(self, line: Fields, block: Fields, track: str, now: str) -> list[Fields]:
        loop = self._tracks.get(track)
        if loop is None:
            return []
        call, text = text_field(block, "tool_use_id"), text_of(block.get("content"))
        name = loop.tool_name(call)
        is_error = block.get("is_error") is True
        failed = is_error and not text.startswith((_TOOL_USE_ERROR, _INTERRUPTED))
        refusal = _refusal(text) if is_error else ""
        events = loop.end_tool(call, text, now, has_failed=failed, refusal=refusal)
        child = object_field(line, "toolUseResult").get("agentId")
        if isinstance(child, str) and child and name:
            events.append(loop.link(call, name, loop_id(loop.session_id, child)))
        return events

    def _compaction(self, line: Fields, session: str, track: str, now: str) -> list[Fields]:
        events = [] if track in self._tracks else self._begin(session, track, AGENT, line, now)
        loop = self._tracks[track]
        tokens = counts(object_field(line, "compactMetadata"), {"n": "preTokens"})["n"] or None
        self._compacting = True
        return events + loop.compaction_start(now, tokens)

    def _summary(self, track: str, text: str, now: str) -> list[Fields]:
        loop = self._tracks.get(track)
        if loop is None or not self._compacting:
            return []
        self._compacting = False
        return [loop.compaction_end(now, None, text)]

    def _end(self, track: str, at: str, outcome: str = "") -> list[Fields]:
        self._chains = {uuid: of for uuid, of in self._chains.items() if of != track}
        return self._tracks.pop(track).end(at, outcome)


def _marks_end(line: Fields, loop: OpenLoop) -> bool:
    """Return whether the agent writes this line when it waits for a prompt, or exits.

    `last-prompt` may stand between the thinking and the text of one answer.
    """
    kind = line.get("type")
    if kind == "last-prompt":
        return bool(loop.error) or loop.has_text
    return kind == "cost-state" or (kind == "system" and line.get("subtype") == "turn_duration")


def _answer_key(line: Fields) -> str:
    is_answer = text_field(line, "type") == "assistant"
    return (text_field(object_field(line, "message"), "id") or text_field(line, "uuid")) if is_answer else ""


def _refusal(text: str) -> Refusal:
    """Return why a call with this error did not begin."""
    if text.startswith(_DENIED):
        return "denied"
    return "cancelled" if text.startswith(_CANCELLED) else ""


def _argument(call: Fields, name: str) -> str:
    return text_field(object_field(call, "arguments"), name)


def _blocks(content: Json) -> list[Fields]:
    found: list[Fields] = plain(content)
    for block in objects(content):
        kind = block.get("type")
        if kind == "text":
            found += plain(block.get("text"))
        elif kind == "thinking":
            found += thinking(block.get("thinking"))
        elif kind == "tool_use":
            found.append(call_block(block.get("id"), block.get("name"), block.get("input")))
    return found

"""Reader of Claude Code's transcripts: `projects/<folder>/<session>.jsonl` and its sub-agents' files.

A prompt begins a loop. An answer comes on several lines, one for each block, with the same message id and
usage; which block is the last shows only in what follows. So a loop ends with the mark that the agent writes
when it waits for a prompt (`turn_duration`, which `--print` leaves out) or exits (`cost-state`; in older
releases `last-prompt`), with a stop that nothing follows, such as a refusal, else with the next prompt.
Recent releases write `last-prompt` at any time, also before the answer. What continues a loop reopens it.

A sub-agent's lines have an `agentId` and the prompt id of the main agent, whose loop it is below until the
result of the tool that ran it names its id: that tool may be a sub-agent's. The line `agent-meta`, which the
client makes of the file beside it, names the call and its agent at once, or the run of a workflow; the call
that the run belongs to is the one whose result names it. In files of older releases they
stand among those of the main agent, without an id: the first one repeats the prompt of the call, and the
others follow by `parentUuid`.
"""

from __future__ import annotations

from datetime import datetime

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
from recorder.core.formats.transcripts import other_calls
from recorder.core.formats.transcripts.claude_code import contents
from recorder.core.formats.transcripts.claude_code.record_types import (
    BOOKKEEPING,
    MESSAGES,
    TITLES,
    TYPES,
    answer_key,
    marks_end,
)
from recorder.core.formats.transcripts.claude_code.requests import Requests
from recorder.core.formats.transcripts.claude_code.tool_results import end_hosted, results_of
from recorder.core.formats.transcripts.claude_code.tracks import TRACKS_MAX, Tracks
from recorder.core.formats.transcripts.fields import (
    before,
    first_valid_id,
    forget_first,
    loop_id,
    prompt_text,
    text_of,
    time_text,
)
from recorder.core.formats.transcripts.line_loops import has_content, keep_unknown, loop_of_line
from recorder.core.formats.transcripts.open_loop import OpenLoop
from recorder.core.formats.transcripts.repeats import LineKey, key_of
from recorder.core.formats.transcripts.token_counts import counts
from recorder.core.ledger.reasons import reason_of
from recorder.core.records import SPAWNED_BY, Json

AGENT = "claude-code"


class ClaudeCodeReader:
    """Reads the lines of one file, with a loop for the main agent ("") and for each sub-agent."""

    def __init__(self, state: Json, _key: str, _next_loop: NextLoop) -> None:
        stored = state if isinstance(state, dict) else {}
        self._tracks, self._requests = Tracks(stored), Requests(stored.get("requests"))

    @property
    def state(self) -> Json:
        return {**self._tracks.dump(), "requests": self._requests.dump()}

    @property
    def open_loops(self) -> list[OpenLoop]:
        """The loops that have not ended."""
        return [loop for loop in self._tracks.loops.values() if not loop.is_over]

    def read(self, line: Fields, at: datetime) -> Translation:
        """Translate a line. Raises InvalidLineError."""
        kind = text_field(line, "type")
        if kind == "fork-context-ref" and is_id(agent := line.get("agentId")):
            self._tracks.forks[agent] = 1
            forget_first(self._tracks.forks, TRACKS_MAX)
        if "sessionId" not in line and kind and kind not in MESSAGES and not has_content(line):
            reading = Translation(kind)
            if kind not in BOOKKEEPING:
                keep_unknown(reading, line, self._tracks.types)
            return reading
        session = required_id(line, "sessionId")
        left = self._tracks.enter(line, session)
        now, track = time_text(line.get("timestamp"), at), self._tracks.of_line(line)
        reading = Translation(kind or "line", session_id=session, timestamp=parse_time(line.get("timestamp")))
        costs = [] if track else self._tracks.costs.read(line, at)
        if kind == "assistant" and track in self._tracks.forks:
            reading.covers = ""
            return reading  # history of the agent from which this one was forked
        if kind == "agent-meta":
            self._tracks.note_meta(line)
        elif kind not in TYPES:
            keep_unknown(reading, line, self._tracks.types)
        self._requests.note(line, track, now)
        reading.events = self._events(line, session, track, now)
        self._tracks.note_line(track, text_field(line, "uuid"))
        reading.loop_id = loop_of_line(self._tracks.loops.get(track), reading.events, f"{session}{track}")
        reading.events += costs
        if left is not None and left.is_finished:
            reading.events = [*left.end(left.at), *reading.events]
        return reading

    def repeat(self, line: Fields, at: datetime) -> Translation:
        """Return the translation of a line that is recorded elsewhere: history, without events of its own.

        Raises InvalidLineError.
        """
        session, track = required_id(line, "sessionId"), text_field(line, "agentId")
        loop = self._tracks.loops.get(track)
        return Translation(
            text_field(line, "type"),
            [] if track else self._tracks.costs.read(line, at),
            session_id=session,
            loop_id=loop_of_line(loop, [], f"{session}{track}"),
            timestamp=parse_time(line.get("timestamp")),
            covers="",
        )

    def key_of(self, line: Fields) -> LineKey | None:
        return key_of(line)

    def session_of(self, line: Fields) -> str:
        return text_field(line, "sessionId")

    def continues(self, line: Fields) -> bool:
        """Return whether a line is a further part of the answer that is open in its track, or was last."""
        loop = self._tracks.loops.get(self._tracks.name_of(line))
        return loop is not None and bool(loop.key_at_end) and loop.key_at_end == answer_key(line)

    def takes_statement(self) -> bool:
        """Return whether the agent stated a cost since this was last asked."""
        return self._tracks.costs.takes_new()

    def end_of_stream(self, at: datetime) -> list[Fields]:
        """End the loops whose last answer asked for nothing more; the others are aborted."""
        now = time_text(None, at)
        return [event for loop in self._tracks.loops.values() for event in loop.end_of_stream(now)]

    def _events(self, line: Fields, session: str, track: str, now: str) -> list[Fields]:
        kind, loop = text_field(line, "type"), self._tracks.loops.get(track)
        if kind == "user":
            return self._user(line, session, track, now)
        if kind == "assistant":
            return self._assistant(line, session, track, now)
        if kind == "system" and line.get("subtype") == "compact_boundary":
            return self._compaction(line, session, track, now)
        if kind in TITLES:
            return self._title(line, session, track)
        if loop is not None and (text := contents.queued_prompt(line)):
            return loop.prompt(text, now)
        return loop.end(loop.at) if loop is not None and loop.is_finished and marks_end(line) else []

    def _title(self, line: Fields, session: str, track: str) -> list[Fields]:
        """Give the session its title, once it has begun: one by a person counts more than the agent's."""
        kind = text_field(line, "type")
        title, held = text_field(line, TITLES[kind]), self._tracks.title
        if track or not title or (kind == "ai-title" and held.get("kind") == "custom-title"):
            return []
        self._tracks.title = {"kind": kind, "text": title}
        return self._title_of(session) if "" in self._tracks.loops else []

    def _title_of(self, session: str) -> list[Fields]:
        title = text_field(self._tracks.title, "text")
        return [{"type": "SessionInfo", "session_id": session, "title": title}] if title else []

    def _user(self, line: Fields, session: str, track: str, now: str) -> list[Fields]:
        content, results = object_field(line, "message").get("content"), results_of(line, now)
        text = text_of(content) if results else prompt_text(content)
        if results and track in self._tracks.forks:  # of the call that forked it, with what it shall do
            del self._tracks.forks[track]
        elif results:
            return [event for result in results for event in self._result(track, result)]
        loop = self._tracks.loops.get(track)
        if line.get("isCompactSummary") is True:
            return self._summary(loop, text, now)
        if line.get("isMeta") is True or not text:
            return []
        if text.startswith(contents.INTERRUPTED):
            return loop.end(now, "cancelled") if loop is not None else []
        return self._prompt(line, session, track, text, now)

    def _prompt(self, line: Fields, session: str, track: str, text: str, now: str) -> list[Fields]:
        loop, prompt_id = self._tracks.loops.get(track), self._tracks.prompt_name(line, track)
        held: Fields = {"id": prompt_id, "text": contents.readable(text), "at": now}
        held["above"] = text_field(line, "parentUuid")
        if text_field(line, "agentId") and is_id(line.get("promptId")):
            held["caller"] = loop_id(session, line["promptId"])
        if track and track == line.get("uuid"):
            held |= self._tracks.caller(text)
        if text.lstrip().startswith(contents.OUTPUTS) and track in self._tracks.prompts:
            return []  # of the command that waits
        if track or text.lstrip().startswith(contents.COMMANDS):  # begins a loop only if an answer follows
            self._tracks.prompts[track] = held
            return []
        if loop is not None and loop.loop_id == loop_id(session, prompt_id):
            return loop.prompt(str(held["text"]), now)  # steering: a message within the same prompt
        self._tracks.prompts[track] = held
        return self._begin(session, track, AGENT, line, now)

    def _begin(self, session: str, track: str, agent: str, line: Fields, now: str) -> list[Fields]:
        """Begin a loop with the prompt that waits, if there is one; end the one before it."""
        previous = self._tracks.loops.get(track)
        events = previous.end(previous.at) if previous is not None else []
        if previous is not None and events:
            self._tracks.leave(previous)
        is_first = not track and previous is None
        prompt = self._tracks.prompts.pop(track, None)
        name = track or (prompt or {}).get("id") or line.get("uuid")
        loop = self._tracks.begin(track, OpenLoop(session, loop_id(session, name)))
        began = str(prompt["at"]) if prompt is not None else now
        about: Fields = {
            to: found
            for to, name_ in (("cwd", "cwd"), ("version", "version"), ("branch", "gitBranch"))
            if isinstance(found := line.get(name_), str) and found
        }
        spawn = self._tracks.spawn(track)
        run = "" if "call" in spawn else text_field(spawn, "run")
        above_id = text_field(spawn, "parent") or run
        caller = loop_id(session, above_id) if above_id else (prompt or {}).get("caller")
        more: Fields = {"parent_loop_id": caller, "is_sub_agent": True} if caller else {}
        if caller and (call := text_field(spawn, "call")):
            about[SPAWNED_BY] = {"tool_call_id": call, "tool_name": contents.AGENT_TOOL}
        elif run and above_id == run:
            about[SPAWNED_BY] = {"run": caller}
        if above := self._tracks.rewound(track, previous, (prompt or {}).get("above")):
            tag = str((prompt or {})["above"])
            more = {"parent_loop_id": above, "continuation_kind": {"Branch": {"tag": tag}}}
        events += loop.start(agent, began, about, adopts=before(f"{session}{track}"), **more)
        if is_first:
            events += self._title_of(session)
        if prompt is not None:
            events += loop.prompt(str(prompt["text"]), began) + self._link(loop, prompt)
        return events

    def _link(self, loop: OpenLoop, prompt: Fields) -> list[Fields]:
        main, call = self._tracks.loops.get(""), prompt.get("call")
        name = main.tool_name(str(call)) if main is not None and call else ""
        return [main.link(str(call), name, loop.loop_id)] if main is not None and name else []

    def _assistant(self, line: Fields, session: str, track: str, now: str) -> list[Fields]:
        message = object_field(line, "message")
        events: list[Fields] = []
        is_synthetic, is_flagged = (
            message.get("model") == "<synthetic>",
            line.get("isApiErrorMessage") is True,
        )
        if is_synthetic and not is_flagged and text_of(message.get("content")) == contents.NO_RESPONSE:
            return []
        if track not in self._tracks.loops or track in self._tracks.prompts:
            events += self._begin(session, track, self._agent(line, track), line, now)
        loop = self._tracks.loops[track]
        is_error = is_flagged or is_synthetic
        head = {
            "stop": text_field(message, "stop_reason"),
            "error": text_of(message.get("content")) if is_error else "",
            "request": text_field(line, "requestId"),
            "missed": reason_of({"message": message}),
        }
        blocks = [] if is_error else contents.blocks_of(message.get("content"))
        usage = contents.usage_of(message)
        is_call = not is_error or (not is_synthetic and usage is not None and any(usage.values()))
        if is_call:
            model = contents.model_of(message)
            head |= {"model": model, "provider": contents.provider_of(model)}
        asked = self._requests.answered(line, track, now)
        if asked is not None:
            events += loop.answer(answer_key(line) or now, str(asked["timestamp"]), [], **head)
            events.append(loop.event("TurnRequest", turn_index=loop.turn, **asked))
        events += loop.answer(answer_key(line) or now, now, blocks, **head)
        if is_call and usage is not None:
            is_free = message.get("stop_reason") == "refusal" and not usage["output"]
            events += loop.set_usage(usage, 0.0 if is_free else -1.0)
            other_calls.note(loop, contents.other_calls(message))
        events += self._calls(loop, track, blocks, now)
        events += end_hosted(loop, message, now)
        has_text = any(block["type"] == "text" for block in blocks)
        if loop.is_finished and ((track and has_text) or loop.stop not in _MAY_GO_ON):
            events += loop.end(now)
        return events

    def _calls(self, loop: OpenLoop, track: str, blocks: list[Fields], now: str) -> list[Fields]:
        """Note the tool calls of an answer; return waits for a person and results that came before."""
        events: list[Fields] = []
        for call in [block for block in blocks if block["type"] == "toolCall"]:
            self._tracks.note_call(track, call)
            if call["name"] in contents.QUESTIONS:
                events += loop.wait_for(str(call["id"]))
            if early := self._tracks.results.take(track, str(call["id"])):
                events += self._result(track, early | {"at": max(str(early["at"]), now)})
        return events

    def _agent(self, line: Fields, track: str) -> str:
        if not track:
            return AGENT
        of_call = text_field(self._tracks.prompts.get(track, {}), "agent")
        of_meta = text_field(self._tracks.spawn(track), "agent")
        return first_valid_id(line.get("attributionAgent"), of_meta, of_call, "sub-agent")

    def _result(self, track: str, result: Fields) -> list[Fields]:
        call, text = str(result["call"]), str(result["text"])
        last = self._tracks.loops.get(track)
        events = [] if last is None or last.is_over else last.resume()
        loop = self._tracks.loop_of_call(track, call)
        if loop is None:
            self._tracks.results.add(track, result)
            return events
        name, decision = loop.tool_name(call), text_field(result, "decision")
        events += loop.end_tool(
            call,
            text,
            str(result["at"]),
            has_failed=bool(result["is_error"]) and contents.is_failure(text),
            refusal=contents.refusal_of(text, decision) if result["is_error"] else "",
            granted=decision == "granted",
        )
        child = text_field(result, "run" if name == contents.WORKFLOW_TOOL else "agent")
        if child:
            events.append(loop.link(call, name, loop_id(loop.session_id, child)))
        return [*events, *(loop.end(loop.at) if loop is not last else [])]

    def _compaction(self, line: Fields, session: str, track: str, now: str) -> list[Fields]:
        events: list[Fields] = []
        if track not in self._tracks.loops:
            events = self._begin(session, track, AGENT, line, now)
        loop = self._tracks.loops[track]
        about = object_field(line, "compactMetadata")
        tokens = counts(about, {"before": "preTokens", "after": "postTokens"})
        self._tracks.compacting = True
        self._tracks.after = tokens["after"]
        return events + loop.compaction_start(now, tokens["before"] or None)

    def _summary(self, loop: OpenLoop | None, text: str, now: str) -> list[Fields]:
        if loop is None or not self._tracks.compacting:
            return []
        after, self._tracks.compacting, self._tracks.after = self._tracks.after or None, False, 0
        events = loop.compaction_end(now, None, text, after=after)
        is_over = loop.is_finished or loop.turn < 0
        return [*events, *(loop.end(now) if is_over else [])]


# Stops of an answer of the main agent that are no end by themselves: a hook may make it go on.
_MAY_GO_ON = frozenset(("end_turn", "stop_sequence", "stop"))

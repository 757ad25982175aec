"""The tracks of a transcript of Claude Code: the main agent ("") and its sub-agents, each with its last loop.

The state is bounded: a file of more agents than `TRACKS_MAX` that run at once is refused, and what has ended
longest is forgotten first.
"""

from __future__ import annotations

from typing import cast

from recorder.core.events.fields import is_id
from recorder.core.formats import InvalidLineError
from recorder.core.formats.base import Fields, object_field, text_field
from recorder.core.formats.transcripts.claude_code.contents import argument
from recorder.core.formats.transcripts.claude_code.cost_states import CostStates
from recorder.core.formats.transcripts.claude_code.record_types import MESSAGES
from recorder.core.formats.transcripts.claude_code.tool_results import WaitingResults
from recorder.core.formats.transcripts.fields import fingerprint, forget_first
from recorder.core.formats.transcripts.open_loop import OpenLoop
from recorder.core.records import Json

TRACKS_MAX = 500
ENDED_MAX = 16  # loops of sub-agents that have ended, which a later line may reopen
CHAINS_MAX = 1_000
LOOPS_MAX, ENDS_MAX = 40, 4  # loops that a prompt may go back to, and lines of each
LEFT_MAX = 2  # loops with calls that had no result when the next prompt came
CALLS_MAX = 50  # calls of the main agent that older releases name by their prompt alone


class Tracks:
    """The loops of one file between lines."""

    def __init__(self, stored: Fields) -> None:
        loops = cast("Fields", stored.get("tracks") or {})
        self.loops = {name: OpenLoop.load(each) for name, each in loops.items()}
        # By track: prompts that wait for an answer.
        self.prompts = cast("dict[str, Fields]", stored.get("prompts") or {})
        self.compacting = bool(stored.get("compacting"))
        self.after = int(cast("int", stored.get("after") or 0))  # tokens behind the open compaction
        # By loop of the main agent: its last lines.
        self._ends = cast("dict[str, list[str]]", stored.get("ends") or {})
        # Sub-agents that were forked, until their first own line: what precedes it is their parent's.
        self.forks = cast("dict[str, int]", stored.get("forks") or {})
        self.title = cast("Fields", stored.get("title") or {})  # of the session: kind and text
        self.types = cast("dict[str, int]", stored.get("types") or {})  # unknown ones
        # By sub-agent: the call that runs it, the sub-agent that made the call, and its own name.
        self._spawns = cast("dict[str, Fields]", stored.get("spawns") or {})
        self._chains = cast("dict[str, str]", stored.get("chains") or {})  # track by uuid, of older releases
        self._prompt_ids = cast("dict[str, Fields]", stored.get("prompt_ids") or {})  # by track
        self.costs = CostStates(cast("Fields", stored.get("costs") or {}))
        # By a hash of its prompt: id and agent of the last calls of the main agent, of older releases.
        self._calls = cast("dict[str, Fields]", stored.get("calls") or {})
        # Loops that have ended with calls whose results may still come, as another process writes them.
        self._left = {name: OpenLoop.load(each) for name, each in object_field(stored, "left").items()}
        self.results = WaitingResults(cast("Fields", stored.get("results") or {}))

    def dump(self) -> Fields:
        """Return the state as JSON. Its names never change."""
        loops: Fields = {name: each.dump() for name, each in self.loops.items()}
        return {
            "tracks": loops,
            "prompts": cast("Json", self.prompts),
            "compacting": self.compacting,
            "chains": cast("Json", self._chains),
            "after": self.after,
            "ends": cast("Json", self._ends),
            "forks": cast("Json", self.forks),
            "title": self.title,
            "types": cast("Json", self.types),
            "spawns": cast("Json", self._spawns),
            "prompt_ids": cast("Json", self._prompt_ids),
            "calls": cast("Json", self._calls),
            "costs": self.costs.dump(),
            "results": self.results.dump(),
            "left": {name: each.dump() for name, each in self._left.items() if each.calls},
        }

    def of_line(self, line: Fields) -> str:
        """Return the track of a line, and note the lines of sub-agents without an id.

        Raises:
            InvalidLineError: more sub-agents run at once than `TRACKS_MAX`.
        """
        track = text_field(line, "agentId")
        if line.get("isSidechain") is True and not track:
            own, above = text_field(line, "uuid"), text_field(line, "parentUuid")
            track = self._chains.get(above) or own or "sidechain"
            self._chains[own] = track
            forget_first(self._chains, CHAINS_MAX)
        if track not in self.loops and len(self.loops) + len(self.prompts) >= TRACKS_MAX:
            raise InvalidLineError("too_large", "agentId", f"more than {TRACKS_MAX} sub-agents run at once")
        return track

    def enter(self, line: Fields, session: str) -> OpenLoop | None:
        """Let the main agent be that of the session of a message; return the loop of another that it was."""
        loop, is_side = (
            self.loops.get(""),
            bool(text_field(line, "agentId")) or line.get("isSidechain") is True,
        )
        if loop is None or is_side or loop.session_id == session or text_field(line, "type") not in MESSAGES:
            return None
        for table in (self.loops, self.prompts):
            _swap(cast("dict[str, object]", table), _parked(loop.session_id), _parked(session))
        self.title, self.compacting, self.after = {}, False, 0
        return loop

    def note_line(self, track: str, uuid: str) -> None:
        """Note a line of the main agent: a prompt behind one of an earlier loop goes back to it."""
        loop = self.loops.get(track)
        if track or not uuid or loop is None:
            return
        last = [*self._ends.pop(loop.loop_id, []), uuid][-ENDS_MAX:]
        self._ends[loop.loop_id] = last
        forget_first(self._ends, LOOPS_MAX)

    def rewound(self, track: str, previous: OpenLoop | None, above: Json) -> str:
        """Return the earlier loop that a prompt of the main agent goes back to; "" if it goes on."""
        if track or previous is None or not above:
            return ""
        found = (loop for loop, uuids in self._ends.items() if above in uuids)
        loop = next(found, "")
        return loop if loop != previous.loop_id else ""

    def name_of(self, line: Fields) -> str:
        """Return the track of a line, and change nothing."""
        track = text_field(line, "agentId")
        if line.get("isSidechain") is True and not track:
            return self._chains.get(text_field(line, "parentUuid"), "sidechain")
        main, session = self.loops.get(""), text_field(line, "sessionId")
        return track or ("" if main is None or main.session_id == session else _parked(session))

    def begin(self, track: str, loop: OpenLoop) -> OpenLoop:
        """Add a loop; forget those of sub-agents that ended longest ago."""
        self._left.pop(loop.loop_id, None)  # of a further run of a loop events go to that one
        self.loops.pop(track, None)
        self.loops[track] = loop
        ended = [name for name, each in self.loops.items() if name and each.is_over]
        for name in ended[: max(0, len(ended) - ENDED_MAX)]:
            del self.loops[name]
            self._prompt_ids.pop(name, None)
        return loop

    def leave(self, loop: OpenLoop) -> None:
        """Keep a loop that the next prompt ended, if a call of it has no result."""
        if loop.calls:
            self._left[loop.loop_id] = loop
            forget_first(self._left, LEFT_MAX)

    def loop_of_call(self, track: str, call: str) -> OpenLoop | None:
        """Return the loop of a call that has no result yet, the last one of its track or one before it."""
        last = self.loops.get(track)
        loops = [*self._left.values(), *([last] if last is not None else [])]
        return next((loop for loop in reversed(loops) if loop.tool_name(call)), None)

    def prompt_name(self, line: Fields, track: str) -> Json:
        """Return what names the loop of a prompt: its id, else its uuid.

        All prompts of a fork have one id: a later prompt of it goes by its uuid. A prompt that steers a turn
        has the same id and the same place.
        """
        turn = object_field(line, "turnPosition").get("turnIndex")
        prompt_id = line.get("promptId") or line.get("uuid")
        known = self._prompt_ids.get(track, {})
        if known.get("id") == prompt_id and (turn is None or known.get("turn") == turn):
            return known.get("name")
        name = line.get("uuid") if known.get("id") == prompt_id else prompt_id
        self._prompt_ids[track] = {"id": prompt_id, "turn": turn, "name": name}
        return name

    def note_meta(self, line: Fields) -> None:
        """Note what `meta.json` says of a sub-agent before its first line."""
        agent, above = text_field(line, "agentId"), text_field(line, "parentAgentId")
        found: Fields = {
            "call": text_field(line, "toolUseId"),
            "parent": above if above != agent else "",
            "agent": text_field(line, "agentType"),
            "run": text_field(line, "workflowRunId"),
        }
        if is_id(agent):
            self._spawns[agent] = {name: value for name, value in found.items() if is_id(value)}
            forget_first(self._spawns, TRACKS_MAX)

    def spawn(self, track: str) -> Fields:
        """Return the call, the parent and the name of a sub-agent, as far as `meta.json` has them."""
        return self._spawns.get(track, {})

    def note_call(self, track: str, call: Fields) -> None:
        """Note a call of the main agent by its prompt, with which a sub-agent of older releases begins."""
        prompt = argument(call, "prompt")
        if track or not prompt:
            return
        self._calls[fingerprint(prompt)] = {"call": call["id"], "agent": argument(call, "subagent_type")}
        forget_first(self._calls, CALLS_MAX)

    def caller(self, prompt: str) -> Fields:
        """Return the id and the agent of the main agent's call that has this prompt."""
        return self._calls.get(fingerprint(prompt), {})


def _parked(session: str) -> str:
    """Return the track of the main agent of a session while the file goes on with another one."""
    return f"main {session}"


def _swap(table: dict[str, object], left: str, entered: str) -> None:
    """Park the entry of the main agent, and take that of another session, if there is one."""
    if "" in table:
        table[left] = table.pop("")
    if entered in table:
        table[""] = table.pop(entered)

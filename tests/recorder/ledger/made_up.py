"""Made-up streams of events with everything that senders do: a list of actions becomes a list of events."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from tests.support import build

BIG = 2**53 - 1
HOSTILE = "n\x00\ud800" + "ä" * 300
LOOPS = ("s.a.1", "s.a.2", "s.b.3", "s.c.4", "t.a.5")
PARENTS = {"s.a.2": "s.a.1", "s.b.3": "s.a.1"}
KINDS = {"s.a.2": {"Rerun": {"tag": None}}, "s.b.3": {"Branch": {"tag": "2026-11-20T15:58:11Z"}}}
MODELS = (
    ("claude-sonnet-4-6", "anthropic"),
    ("gpt-5", "openai"),
    ("made-up-model", "nobody"),
    (HOSTILE, HOSTILE),
)
ACTIONS = (
    *("recorded", "derived", "without start", "tool", "duplicate tool", "hostile tool", "compaction"),
    *("compaction with summary", "prune", "revert", "model", "agent", "cost", "huge cost", "unreconciled"),
    *("huge", "empty", "image", "edited", "shrunk", "odd request", "late", "1h", "again", "rating", "end"),
)
ACTION = st.tuples(st.integers(0, len(LOOPS) - 1), st.sampled_from(ACTIONS))
PLANS = st.lists(ACTION, min_size=1, max_size=25)


class Stream:
    """The events of a plan. Each loop has its own messages, tokens and time."""

    def __init__(self) -> None:
        self.events: list[dict] = []
        self.sent: dict[str, list] = {}
        self.turns: dict[str, int] = {}
        self.model: dict[str, tuple[str, str]] = {}
        self.at = 0
        self.tokens = 0

    def add(self, loop: str, action: str) -> None:
        """Add the events of one action."""
        if loop not in self.sent:
            self._start(loop)
        self.at += 400 if action == "late" else 7
        method = getattr(self, f"_{action.replace(' ', '_')}", None)
        if method is not None:
            method(loop)
        else:
            self._turn(loop, action)

    def _start(self, loop: str) -> None:
        model, provider = MODELS[LOOPS.index(loop) % 3]
        snapshot = {"model": model, "provider": provider, "api": "anthropic_messages"}
        self.sent[loop], self.turns[loop], self.model[loop] = (
            [build.user(f"Do {loop}.")],
            0,
            (model, provider),
        )
        more = {"role": "judge"} if loop == "s.c.4" else {}
        self.events.append(
            build.agent_start(
                loop,
                parent=PARENTS.get(loop),
                kind=KINDS.get(loop, "Initial"),
                config_snapshot=snapshot,
                **more,
            )
        )
        self.events.append(build.message_end(loop, self.sent[loop][0]))

    def _turn(self, loop: str, action: str) -> None:
        index = self.turns[loop]
        self.turns[loop] += 1
        if action == "edited":
            self.sent[loop][0] = build.user(f"Edited {index}.")
        if action == "shrunk":
            del self.sent[loop][:-1]
        if action != "without start":
            self.events.append(build.turn_start(loop, index=index, at=self.at))
        if action not in ("derived", "without start", "tool"):
            self.events.append(self._request(loop, index, action))
        self._answer(loop, index, action)

    def _request(self, loop: str, index: int, action: str) -> dict:
        messages = [*self.sent[loop]]
        if action == "image":
            messages.append({"role": "user", "content": [{"type": "image", "data": "x" * 400}]})
        payload: dict = {
            "messages": messages,
            "system_prompt": f"Work on {loop}.",
            "tools": [{"name": "bash"}],
        }
        if action == "odd request":
            payload["messages"] = [*messages, None, 7, "text", {"role": 3}, {"content": {"a": [None]}}]
            payload["tools"] = [
                None,
                {"function": {"name": HOSTILE}},
                {"name": 5},
                {"name": f"mcp__{HOSTILE}__x"},
            ]
            payload["provenance"] = [None, {"kind": "memory-tier", "tier": HOSTILE}, 3]
            payload["thinking_level"] = {"a": float("inf")}
        return {**build.turn_request(loop, index=index, at=self.at), "payload": payload}

    def _answer(self, loop: str, index: int, action: str) -> None:
        model, provider = self.model[loop]
        self.tokens += 137
        written = self.tokens * 3 % 500
        usage = {"input": 11, "output": 23, "cache_read": self.tokens, "cache_write": written, "reasoning": 3}
        more: dict = {"turn_index": index}
        if action == "1h":
            usage["cache_creation"] = {"ephemeral_1h_input_tokens": written}
        if action == "unreconciled":
            usage |= {"reasoning": 900, "total_tokens": 5}
        if action == "huge":
            usage = dict.fromkeys(("input", "output", "cache_read", "cache_write"), BIG)
        if action == "cost":
            more["cost"] = 0.012345678
        if action == "huge cost":
            more["cost"] = 1e12
        answer = {**build.assistant(f"Answer {index}.", model=model, provider=provider), "usage": usage}
        if action == "empty":
            answer["content"] = []
        calls = self._calls(loop, action)
        answer["content"] = [*answer["content"], *calls]
        self.events.append(build.message_end(loop, answer))
        self.events += [build.tool_start(loop, call=call["id"], name=call["name"]) for call in calls]
        self.events += [build.tool_end(loop, call=call["id"], name=call["name"]) for call in calls]
        self.events.append(build.turn_end(loop, at=self.at, message=answer, usage=usage, **more))
        results = [build.tool_result(call=call["id"], name=call["name"], text="r" * index) for call in calls]
        self.sent[loop] = [*self.sent[loop], answer, *results, build.user(f"Go on {index}.")]
        self.events.append(build.message_end(loop, self.sent[loop][-1]))

    def _calls(self, loop: str, action: str) -> list[dict]:
        ids = {
            "tool": [f"{loop}-{self.at}"],
            "duplicate tool": ["same", "same"],
            "hostile tool": [HOSTILE * 3],
        }
        name = HOSTILE if action == "hostile tool" else "bash"
        return [
            {"type": "toolCall", "id": each, "name": name, "arguments": {}} for each in ids.get(action, ())
        ]

    def _compaction(self, loop: str) -> None:
        del self.sent[loop][:-1]
        self.events += [build.compaction_started(loop, at=self.at), build.compaction_ended(loop, at=self.at)]

    def _compaction_with_summary(self, loop: str) -> None:
        self.sent[loop] = [build.user("Summary."), *self.sent[loop][-1:]]
        self.events.append(build.compaction_started(loop, at=self.at))
        self.events.append(build.compaction_ended(loop, at=self.at, summary="Summary."))

    def _prune(self, loop: str) -> None:
        del self.sent[loop][1:2]
        self.events.append(build.prun_applied(loop, at=self.at))

    def _revert(self, loop: str) -> None:
        del self.sent[loop][-2:-1]
        self.events.append(build.revert_applied(loop, at=self.at))

    def _model(self, loop: str) -> None:
        self.model[loop] = MODELS[(MODELS.index(self.model[loop]) + 1) % len(MODELS)]
        self._turn(loop, "recorded")

    def _agent(self, loop: str) -> None:
        self.events.append(build.ours("AgentSwitched", loop, to=HOSTILE if self.at % 2 else "expert"))
        self._turn(loop, "derived")

    def _again(self, loop: str) -> None:
        """Send the last end of a turn once more."""
        self.events += [event for event in self.events[-3:] if event["type"] == "TurnEnd"]

    def _rating(self, loop: str) -> None:
        loops = [each for each in self.sent if each.startswith("s.")]
        if loops:
            self.events += [build.parallel_start(*loops), build.parallel_end(loops[0], at=self.at)]

    def _end(self, loop: str) -> None:
        self.events.append(build.agent_end(loop, at=self.at))


def lines(plan) -> list[bytes]:
    """Return the lines of a plan."""
    stream = Stream()
    for number, action in plan:
        stream.add(LOOPS[number], action)
    return [json.dumps(event, separators=(",", ":")).encode() for event in stream.events]

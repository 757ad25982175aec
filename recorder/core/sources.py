"""The runtimes that sessions come from, by the value of `Session.source`, and how each counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Convention = Literal["beside", "inside"]  # are cached tokens counted beside `input`, or inside it


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A runtime whose sessions are recorded."""

    name: str  # value of Session.source
    runtime: str = ""  # name on pages; "" where any program may write
    usage_convention: Convention | None = None  # None: derived from the api or provider of a call
    is_merged: bool = False  # sessions may also be sent as spans: both are one session
    is_subscribed: bool = False  # as a rule used under a subscription, and it reports no costs
    sends_total: bool = True  # False: `total_tokens` is a sum that the reader made


NATIVE = "phi-core"
OTLP = "otlp"  # spans and log records; read by `recorder.journal.spans`, because a batch is read as a whole
CLIENT = "client"  # our Python client: native lines whose AgentStart says so

ALL: tuple[Source, ...] = (
    Source(name=NATIVE),
    Source(name=CLIENT),
    Source(name="cagent", runtime="cagent", usage_convention="beside", sends_total=False),
    Source(name="aidaemon", runtime="aidaemon", usage_convention="beside", sends_total=False),
    Source(name="grida", runtime="Grida"),
    *(
        Source(
            name=name,
            runtime=runtime,
            usage_convention="beside",
            is_merged=is_merged,
            is_subscribed=is_merged,
            sends_total=False,
        )
        for name, runtime, is_merged in (
            ("codex", "Codex", True),
            ("gemini-cli", "Gemini CLI", True),
            ("opencode", "OpenCode", False),
            ("pi", "pi", False),
            ("claude-code", "Claude Code", True),
        )
    ),
    Source(name=OTLP, runtime="OpenTelemetry", usage_convention="beside", sends_total=False),
)
SOURCES: tuple[str, ...] = tuple(each.name for each in ALL)
RUNTIMES: Mapping[str, str] = {each.name: each.runtime for each in ALL}
CONVENTIONS: Mapping[str, Convention] = {
    each.name: each.usage_convention for each in ALL if each.usage_convention
}
MERGED: tuple[str, ...] = tuple(each.name for each in ALL if each.is_merged)
SUBSCRIBED = frozenset(each.name for each in ALL if each.is_subscribed)
WITHOUT_TOTAL = frozenset(each.name for each in ALL if not each.sends_total)

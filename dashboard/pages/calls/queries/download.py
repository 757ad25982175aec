"""All tool calls of a project, or all turns of a session, for a download."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache, partial

from dashboard.pages.calls.params import TURN_ERRORS, Calls, Turns
from dashboard.pages.calls.queries.calls import call_url, matching
from dashboard.pages.calls.queries.turns import keys_of, number_of, of_session, turn_url
from dashboard.query_conditions.queries.tool_calls import shown_state
from dashboard.shared.queries.session_filter import TOKENS
from dashboard.shared.session_json.usage import buckets, reported_usage
from dashboard.shared.session_state import SHOWN
from dashboard.web.lists.download import Value, chunked, dollars
from recorder.models import Project, Session, ToolCall, Turn

CALLS = (
    *("id", "tool_call_id", "tool_name", "summary", "session_id", "session_title", "agent_id", "loop_id"),
    *("turn", "state", "started_at", "ended_at", "duration_ms", "url"),
)
TURNS = (
    *("turn", "loop_id", "agent_id", "model", "provider", "stop_reason", "cost_usd", "cost_source"),
    *("tokens", "uncached_input", "cache_read", "cache_write", "output", "reasoning"),
    *("tool_calls", "errors", "error", "answer", "started_at", "ended_at", "url", "session_turn"),
)
_READ = (
    *("tool_call_id", "tool_name", "summary", "state", "started_at", "ended_at", "duration_ms"),
    *("turn__ordinal", "loop__loop_id", "loop__agent_id"),
    *(f"loop__session__{name}" for name in ("session_id", "title", *SHOWN)),
)


def call_chunks(project: Project, address: Calls, now: datetime) -> Iterator[Sequence[Sequence[Value]]]:
    """Yield the tool calls that match, in the order of the list. One query a chunk."""
    rows = ToolCall.objects.select_related("loop__session", "turn").only(*_READ)

    def read(pks: list[int]) -> list[Sequence[Value]]:
        found = rows.in_bulk(pks)
        return [_call(project.slug, found[pk]) for pk in pks if pk in found]

    return chunked(address.order.sort(matching(project, address, now)), read)


def turn_chunks(slug: str, session: Session, address: Turns) -> Iterator[Sequence[Sequence[Value]]]:
    """Yield the turns of a session, in the order of the list. One query, and one a chunk."""
    turns = of_session(session)
    keys = cache(partial(keys_of, turns))  # read after the rows are: it has each of them
    rows = turns.annotate(all_errors=TURN_ERRORS, all_tokens=TOKENS).select_related("loop")

    def read(pks: list[int]) -> list[Sequence[Value]]:
        found = rows.in_bulk(pks)
        return [_turn(slug, session, found[pk], keys()) for pk in pks if pk in found]

    return chunked(address.order.sort(turns), read)


def _call(slug: str, call: ToolCall) -> Sequence[Value]:
    loop, session = call.loop, call.loop.session
    return (
        *(call.pk, call.tool_call_id, call.tool_name, call.summary, session.session_id, session.title),
        *(loop.agent_id, loop.loop_id, call.turn.ordinal + 1 if call.turn else None),
        *(shown_state(call, session), call.started_at, call.ended_at, call.duration_ms, call_url(slug, call)),
    )


def _turn(slug: str, session: Session, turn: Turn, keys: Sequence[int]) -> Sequence[Value]:
    is_known = reported_usage(turn, session.source) is not None
    tokens, errors = getattr(turn, "all_tokens"), getattr(turn, "all_errors")  # noqa: B009  annotated above
    return (
        *(turn.ordinal + 1, turn.loop.loop_id, turn.agent_id or turn.loop.agent_id, turn.model),
        *(turn.provider, turn.stop_reason, dollars(turn.cost_nano), turn.cost_source),
        *(tokens if is_known else None, *_kinds(turn)),
        *(turn.tool_calls, errors, turn.error, turn.answer, turn.started_at, turn.ended_at),
        *(turn_url(slug, turn), number_of(turn, keys)),
    )


def _kinds(turn: Turn) -> tuple[int | None, int | None, int | None, int | None, int | None]:
    """Return uncached input, cache reads, cache writes, visible output and reasoning, or five times None."""
    found = buckets(turn)
    if found is None:
        return None, None, None, None, None
    return found.uncached_input, found.cache_read, found.cache_write, found.output, found.reasoning

"""The page as rows of one table: exact numbers without units. `part` says what a row is.

The rows of the part `kind` add up to the cost of all calls; those of `cause` to the loss, and
those of `change` too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dashboard.pages.context.queries import ContextPage
from dashboard.web.lists.download import Value, dollars

COLUMNS = (
    *("part", "name", "server", "agent", "version", "first_day", "last_day", "turns", "misses", "results"),
    *(
        "tokens",
        "new_tokens",
        "lost_tokens",
        "hit_rate",
        "failed_rate",
        "cost_usd",
        "context_usd",
        "lost_usd",
        "calls",
        "change",
        "session_id",
        "turn",
        "model",
        "prompt_tokens",
        "share",
        "system_tokens",
        "tool_tokens",
    ),
)


def rows(page: ContextPage) -> Iterator[Sequence[Value]]:
    """Yield the rows, in the order of the page."""
    yield from (_row(found) for found in _verdict_rows(page))


def _row(found: dict[str, Value]) -> Sequence[Value]:
    return [found.get(name) for name in COLUMNS]


def _verdict_rows(page: ContextPage) -> Iterator[dict[str, Value]]:
    ledger = page.ledger
    for kind, (tokens, nano) in sorted(ledger.kinds.items()):
        yield {"part": "kind", "name": kind, "tokens": tokens, "cost_usd": dollars(nano)}
    for cause in ledger.causes:
        for day, loss in sorted(cause.days.items()):
            yield {
                "part": "cause",
                "name": cause.verdict,
                "first_day": f"{day}",
                "last_day": f"{day}",
                "misses": loss.calls,
                "lost_tokens": loss.tokens,
                "lost_usd": dollars(loss.nano),
            }
        for change, loss in cause.changes:
            yield {
                "part": "change",
                "name": cause.verdict,
                "change": change,
                "misses": loss.calls,
                "lost_tokens": loss.tokens,
                "lost_usd": dollars(loss.nano),
            }
    yield from _sessions(page)
    yield from _requests(page)
    yield from _waste(page)
    yield from _tools(page)
    yield from _commands(page)
    yield from _floors(page)
    yield from _versions(page)


def _sessions(page: ContextPage) -> Iterator[dict[str, Value]]:
    for row in page.sessions:
        yield {
            "part": "session",
            "name": row.title,
            "agent": row.agent,
            "turns": row.loss.turns,
            "misses": row.loss.misses,
            "lost_tokens": row.loss.lost_tokens,
            "lost_usd": dollars(row.loss.lost_nano),
            "cost_usd": dollars(row.loss.cost_nano),
        }


def _requests(page: ContextPage) -> Iterator[dict[str, Value]]:
    for row in page.requests:
        request = row.request
        yield {
            "part": "request",
            "name": request.verdict,
            "agent": request.agent,
            "first_day": f"{request.at:%Y-%m-%d}",
            "last_day": f"{request.at:%Y-%m-%d}",
            "session_id": request.session_id,
            "turn": request.number,
            "model": request.model,
            "prompt_tokens": request.prompt,
            "hit_rate": request.read_share,
            "lost_usd": dollars(request.lost_nano),
            "cost_usd": dollars(request.cost_nano),
            "share": request.cumulative,
        }


def _commands(page: ContextPage) -> Iterator[dict[str, Value]]:
    for tool in page.ledger.tools:
        for command in tool.commands.values():
            yield {
                "part": "command",
                "name": command.name,
                "server": tool.name,
                "results": command.results,
                "tokens": command.carried_tokens,
                "new_tokens": command.result_tokens,
                "cost_usd": dollars(command.nano),
            }


def _floors(page: ContextPage) -> Iterator[dict[str, Value]]:
    for step in page.floors:
        yield {
            "part": "floor",
            "agent": step.agent,
            "version": step.version,
            "first_day": f"{step.first}",
            "last_day": f"{step.last}",
            "turns": step.calls,
            "tokens": step.tokens_each,
            "system_tokens": step.system_each,
            "tool_tokens": step.tools_each,
            "cost_usd": dollars(step.nano),
        }


def _waste(page: ContextPage) -> Iterator[dict[str, Value]]:
    named = [("waste", each.rule, "", each.wasted) for each in page.waste.rules]
    named += [("waste_session", row.title, row.agent, row.sum.wasted) for row in page.wasteful]
    for part, name, agent, spent in named:
        yield {
            "part": part,
            "name": name,
            "agent": agent,
            "calls": spent.calls,
            "tokens": spent.tokens,
            "cost_usd": dollars(spent.nano),
        }


def _versions(page: ContextPage) -> Iterator[dict[str, Value]]:
    for version in page.ledger.versions:
        yield {
            "part": "version",
            "agent": version.agent,
            "version": version.version,
            "first_day": f"{version.first}",
            "last_day": f"{version.last}",
            "turns": version.turns,
            "misses": version.loss.calls,
            "lost_tokens": version.loss.tokens,
            "hit_rate": version.hit_rate,
            "lost_usd": dollars(version.loss.nano),
            "context_usd": dollars(version.context_nano),
            "cost_usd": dollars(version.cost_nano),
        }


def _tools(page: ContextPage) -> Iterator[dict[str, Value]]:
    for tool in page.ledger.tools:
        yield {
            "part": "tool",
            "name": tool.name,
            "server": tool.server,
            "results": tool.results,
            "tokens": tool.carried_tokens,
            "new_tokens": tool.result_tokens,
            "failed_rate": tool.failed,
            "cost_usd": dollars(tool.nano),
        }
    for group in page.ledger.unused:
        yield {
            "part": "never_called",
            "name": "; ".join(sorted(group.tools)),
            "server": group.server,
            "agent": "; ".join(sorted(group.agents)),
            "turns": group.turns,
            "tokens": group.carried_tokens,
            "new_tokens": group.tokens,
            "cost_usd": dollars(group.nano),
        }

"""Addresses of all pages, with hostile text wherever a page shows an agent's text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from django.urls import reverse

from dashboard.pages.registry import PAGES as REGISTERED
from tests.dashboard.pages.attention.loop_states import approval_request, failing
from tests.dashboard.pages.leaderboard.expected_standings import evaluation
from tests.support import build
from tests.support.server import Server

TAPE = Path(__file__).parents[1] / "tapes" / "hostile.events.jsonl"
MARKUP = '"><img src=x onerror="window.__pwned=3">'
HOSTILE = json.loads(TAPE.read_text().splitlines()[0])["session_id"]
ADDRESSES = {
    **{page.name: reverse(page.name, args=["default"]) for page in REGISTERED if page.link},
    "costs-sessions": "/p/default/costs?by=session&since=24h",
    "search": "/p/default/find?q=session",
    "accounts": "/p/default/costs/accounts",
    "welcome": "/p/default/welcome",
    "connect": "/p/default/connect",
    "signin": "/signin",
    "missing": "/p/default/no-such-page",
}
OF_RECORDS = (
    *("session", "failed", "tree", "running", "past", "timeline", "events", "json"),
    *("evaluation", "compaction", "passes", "session-search", "compare", "loops"),
)
PAGES = [*ADDRESSES, *OF_RECORDS]


def recorded(server: Server) -> dict[str, str]:
    """Record hostile text for every page; return the address of each page."""
    server.agent().send(*TAPE.read_text().splitlines())
    server.agent().send(*spending())
    server.agent().send(
        *approval_request("asks", MARKUP, risk=MARKUP, warnings=[MARKUP]), *failing("fails", MARKUP)
    )
    turns = ("ABCD"[n % 4 :] + "ABCD"[: n % 4] for n in range(24))
    ended = [evaluation(n, turned, 0) for n, turned in enumerate(turns)]
    server.agent().send(*(build.line(event).decode() for events in ended for event in events))
    server.agent().send(*learning())
    server.manage("consolidate")
    return ADDRESSES | _of_records(server)


def _of_records(server: Server) -> dict[str, str]:
    """Return the addresses of the pages of one record each."""
    sessions, loops, groups, compactions = (
        server.read(f"/api/v1/{kind}")["items"] for kind in ("sessions", "loops", "groups", "compactions")
    )
    session = next(each for each in sessions if each["session_id"] == HOSTILE)
    tree = next(each for each in sessions if each["groups"] and each["session_id"] != HOSTILE)
    group = next(each for each in groups if each["session_id"] == HOSTILE)
    shortened = next(each for each in compactions if each["session_id"] == HOSTILE)
    hostile = [each for each in loops if each["session_id"] == HOSTILE]
    one, other = (each["url"].rpartition("/")[2] for each in (session, tree))
    first = hostile[0]["url"]
    compared = "&".join(f"of={loop['url'].rpartition('/')[2]}" for loop in hostile[:3])
    return {
        "session": session["url"],
        "failed": next(each["url"] for each in loops if each["loop_id"] == "spent.0"),
        "tree": tree["url"],
        "running": next(each["url"] for each in hostile if each["status"] == "running"),
        "past": f"{session['url']}/step?to=previous",
        "timeline": f"{first}?tab=timeline",
        "events": f"{first}?tab=events",
        "json": f"{first}?tab=json",
        "evaluation": f"/p/default/evaluations/{group['id']}",
        "compaction": f"{session['url']}/compactions/{shortened['id']}",
        "passes": f"{first}?tab=compactions",
        "session-search": f"{session['url']}/search?q=img",
        "compare": f"/p/default/sessions/compare?of={one}&of={other}",
        "loops": f"{session['url']}/compare?{compared}",
    }


def spending() -> Iterator[dict]:
    """Return calls of an agent with hostile names a moment ago, with and without a price."""
    now = datetime.now(UTC).isoformat()
    for n, model in enumerate(("claude-haiku-4-5", MARKUP)):
        name = f"spent.{n}"
        usage = {"input": 1_000_000, "output": 2_000, "cache_read": 3_000}
        message = {
            "role": "assistant",
            "content": [],
            "model": model,
            "provider": "anthropic",
            "usage": usage,
        }
        config = {"model": model, "provider": "anthropic", "api": "anthropic_messages"}
        yield build.agent_start(name, agent_id=MARKUP, timestamp=now, config_snapshot=config)
        yield build.tool_start(name)
        yield build.tool_end(name, is_error=True)  # a failed call
        yield build.turn_end(name, timestamp=now, message=message, usage=usage)
        yield build.agent_end(name, timestamp=now, usage=usage)


def learning() -> Iterator[dict]:
    """Return loops from which something with hostile names is learned."""
    for n in range(3):
        loop = f"learned{n}.a.1"
        yield build.agent_start(loop, agent_id=MARKUP)
        for call, is_error in (("c1", True), ("c2", False), ("c3", False)):
            name = "edit" if call == "c2" else MARKUP
            yield build.tool_start(loop, call, name, {"path": MARKUP + name})
            yield build.tool_end(loop, call, name, is_error=is_error) | {"result": f"error {MARKUP}"}
        yield build.agent_end(loop)

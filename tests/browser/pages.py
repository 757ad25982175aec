"""Addresses of all pages, with hostile text wherever a page shows an agent's text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from django.urls import reverse

from dashboard.pages.registry import PAGES as REGISTERED
from tests.dashboard.pages.attention.loop_states import approval_request, failing
from tests.dashboard.pages.leaderboard.expected_standings import evaluation
from tests.dashboard.repeated_calls import repeating
from tests.support import build
from tests.support.server import Server
from tests.support.wait import until

TAPE = Path(__file__).parents[1] / "tapes" / "hostile.events.jsonl"
MARKUP = '"><img src=x onerror="window.__pwned=3">'
HOSTILE = json.loads(TAPE.read_text().splitlines()[0])["session_id"]
ADDRESSES = {
    **{page.name: reverse(page.name, args=["default"]) for page in REGISTERED if page.link},
    "costs-sessions": "/p/default/costs?by=session&since=24h",
    "search": "/p/default/find?q=session",
    "search_text": "/p/default/search?q=img",
    "search-start": "/p/default/search",
    "search-error": "/p/default/search?q=status:failed+costs:>1",
    "accounts": "/p/default/costs/accounts",
    "what_if": "/p/default/what-if",
    "slowest-calls": "/p/default/calls?sort=-duration",
    "views": "/p/default/views",
    "people": "/p/default/settings/members",
    "delete-project": "/p/default/settings/delete",
    "masking": "/p/default/settings/masking",
    "account": "/account",
    "users": "/users",
    "share": "/p/default/share",
    "audit": "/p/default/settings/audit",
    "signin": "/signin",
    "missing": "/p/default/no-such-page",
}
OF_RECORDS = (
    *("session", "failed", "tree", "running", "past", "timeline", "context", "events", "json"),
    *("evaluation", "compaction", "passes", "session-search", "compare", "loops"),
    *("notes", "rail", "new-note", "share-record"),
    *("flame", "flame-time", "flame-compared", "turns", "files"),
    *("waste", "waste-timeline", "waste-context"),
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
    server.agent().send(*(build.line(event).decode() for event in repeating("repeats.a.1", name=MARKUP)))
    until(lambda: server.read("/api/v1/waste?alarms=1")["total"], "waste was found")
    server.manage("consolidate")
    server.manage("score", "create", "helpful", "--min", "1", "--max", "5", "--meaning", MARKUP)
    return ADDRESSES | _of_records(server)


def post_note(server: Server, **body: object) -> dict[str, Any]:
    """Write a note or a score as a program does; return the entry."""
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    request = Request(f"{server.url}/api/v1/notes", json.dumps(body).encode(), headers)
    with urlopen(request) as response:
        written: dict[str, Any] = json.load(response)
    return written


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
    on_turn = {"session_id": HOSTILE, "loop": hostile[0]["id"], "turn": 0}
    note = post_note(server, target=on_turn, text=f"{MARKUP} **bold** [x](javascript:alert(1))")
    post_note(server, parent=note["id"], text=MARKUP)
    post_note(server, target=on_turn, name="helpful", value=4, text=MARKUP, source="judge", author=MARKUP)
    post_note(server, target={"session_id": HOSTILE, "evaluation": group["id"]}, text=MARKUP)
    repeats = server.read("/api/v1/waste?session=repeats")["items"][0]["urls"][0].partition("?")[0]
    compared = "&".join(f"of={loop['url'].rpartition('/')[2]}" for loop in hostile[:3])
    return {
        "session": session["url"],
        "failed": next(each["url"] for each in loops if each["loop_id"] == "spent.0"),
        "tree": tree["url"],
        "running": next(each["url"] for each in hostile if each["status"] == "running"),
        "past": f"{session['url']}/step?to=previous",
        "timeline": f"{first}?tab=timeline",
        "waste": repeats,
        "waste-timeline": f"{repeats}?tab=timeline",
        "waste-context": f"{repeats}?tab=context",
        "context": f"{first}?tab=context",
        "events": f"{first}?tab=events",
        "json": f"{first}?tab=json",
        "evaluation": f"/p/default/evaluations/{group['id']}",
        "compaction": f"{session['url']}/compactions/{shortened['id']}",
        "passes": f"{first}?tab=compactions",
        "notes": f"/p/default/notes/{note['id']}",
        "rail": f"{session['url']}?notes=all",
        "new-note": f"{session['url']}/notes/new?kind=score",
        "share-record": f"/p/default/share/session?of={one}",
        "session-search": f"{session['url']}/search?q=img",
        "compare": f"/p/default/sessions/compare?of={one}&of={other}",
        "loops": f"{session['url']}/compare?{compared}",
        "flame": f"{tree['url']}/flame",
        "turns": f"{session['url']}/turns?sort=-cost",
        "files": f"{session['url']}/files",
        "flame-time": f"{session['url']}/flame?by=time",
        "flame-compared": f"{session['url']}/flame?by=tokens&with={other}",
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

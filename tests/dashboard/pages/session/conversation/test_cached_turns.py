"""Finished turns are rendered once; every change of what they show is on the page at once."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.live import panel
from dashboard.pages.session import panels
from recorder.core.formats.registry import READERS
from recorder.core.money.prices import Band, Rates
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.journal import append
from recorder.models import JournalEvent, LoopRecord, Session, Turn
from recorder.operations import retention
from recorder.pricing import backfill, price_book
from tests.dashboard.page_model import parse, parts
from tests.phi_core.scenarios import FOLDER
from tests.support import build

TAPES = Path(__file__).parents[4] / "tapes"
STREAMS = (
    "01-",
    "03-",
    "05-",
    "06-compaction-b",
    "08-",
    "09-",
    "10-",
    "hostile",
    "exec-json-cut",
    "transfer",
)


def turn(index, text, loop="s.a.1"):
    call = f"c{index}"
    yield build.turn_start(loop, index=index)
    yield build.tool_start(loop, call=call, args={"command": f"make {text}"})
    yield build.tool_end(loop, call=call)
    yield build.turn_end(loop, tokens=1000, message=build.assistant(text))


def body(html):
    return parts(parse(html), is_list=False)["body"]


@pytest.fixture
def agrees(see):
    """Return a page that equals the page that is rendered without cached fragments."""

    def agrees(path):
        shown = see(path)
        cache.clear()
        assert body(shown.html) == body(see(path).html)
        return shown

    return agrees


@pytest.fixture
def finished(feed):
    """Record a session of three finished turns; return the path of its page."""
    feed(build.agent_start(), *(event for n in range(3) for event in turn(n, f"part {n}")), build.agent_end())
    return f"/p/default/sessions/{Session.objects.get().pk}"


@pytest.fixture
def rendered(monkeypatch):
    """Return the list of the panels that are rendered from now on."""
    drawn = []
    fragment = panel.Panel.fragment

    def recorded(one, pk, value, **more):
        drawn.append(one.name.rpartition("/")[2])
        return fragment(one, pk, value, **more)

    monkeypatch.setattr(panel.Panel, "fragment", recorded)
    return drawn


def test_a_finished_turn_is_rendered_once_and_its_bodies_are_read_once(finished, see, rendered):
    see(finished)
    assert rendered.count("turn") == 3
    assert rendered.count("track") == 1
    with CaptureQueriesContext(connection) as captured:
        see(finished)

    assert rendered.count("turn") == 3
    assert rendered.count("track") == 1
    assert not [
        query for query in captured if "recorder_journalevent j ON" in query["sql"] and "own" in query["sql"]
    ]


def test_only_the_turn_that_changed_is_rendered_again(feed, finished, see, rendered):
    see(finished)
    rendered.clear()
    feed(build.agent_start("s.a.2", parent="s.a.1", kind="Default"), *turn(0, "more", "s.a.2"))
    last = LoopRecord.objects.get(loop_id="s.a.2")
    see(f"{finished}/loops/{last.pk}")
    assert rendered.count("turn") == 1

    see(f"{finished}/loops/{LoopRecord.objects.get(loop_id='s.a.1').pk}")
    assert rendered.count("turn") == 1


def test_a_late_event_of_a_finished_turn_shows_at_once(feed, finished, agrees, see):
    see(finished)
    feed(build.ours("Notice", kind="notice", text="It came late.", severity="warning", turn_index=1))

    assert "It came late." in agrees(finished).text


def test_a_new_price_shows_as_soon_as_history_is_repriced(project, finished, agrees, see):
    see(finished)
    loop = LoopRecord.objects.select_related("config").get()
    model = loop.config.model, loop.config.provider
    before = list(Turn.objects.values_list("cost_nano", flat=True))
    rates = [Band(0, Rates(*[Decimal(1000)] * 6))]
    price_book.add(project.pk, model, rates, datetime(2020, 1, 1, tzinfo=UTC), "somebody")
    agrees(finished)
    backfill.request(project, model, "somebody")
    while backfill.step():
        pass

    assert list(Turn.objects.values_list("cost_nano", flat=True)) != before
    assert "$1" in agrees(finished).part(f"session-turn-{Turn.objects.first().pk}")


def test_an_approval_shows_in_its_turn_at_once(feed, agrees, see):
    approval = {"kind": "tool", "tool_call_id": "t1", "command": "rm -rf build", "approval_id": "a1"}
    answered = {"tool_call_id": "t1", "approval_id": "a1", "decision": "denied", "reason": "Not today."}
    requested = build.ours("ApprovalRequested", timestamp=build.time(3), **approval)
    feed(build.agent_start(), build.turn_start(), requested, build.turn_end())
    path = f"/p/default/sessions/{Session.objects.get().pk}"
    assert "Approval requested" in see(path).text

    feed(build.ours("ApprovalResolved", timestamp=build.time(5), **answered))

    assert "Not today." in agrees(path).text


def test_a_sub_agent_that_is_recorded_later_is_linked_at_once(feed, agrees, see):
    feed(
        build.agent_start(),
        build.turn_start(),
        build.tool_start(),
        build.tool_end(child="sub.b.1"),
        build.turn_end(),
    )
    path = f"/p/default/sessions/{Session.objects.get().pk}"
    assert "sub-agent not recorded" in see(path).text

    feed(*build.small_loop("sub.b.1"))

    page = agrees(path)
    assert "sub-agent not recorded" not in page.text


def test_pruned_bodies_leave_the_page_at_once(project, reader, see, agrees):
    day = timezone.now()
    lines = (FOLDER / "01-tools-two-prompts.events.jsonl").read_bytes().splitlines()
    ingest(Batch(project.pk, "p", None, lines, received_at=day - timedelta(days=40)))
    loop = LoopRecord.objects.order_by("pk").first()
    path = f"/p/default/sessions/{loop.session_id}/loops/{loop.pk}"
    assert "is no longer available" not in see(path).text

    append.mark_consolidated(list(JournalEvent.objects.values_list("pk", flat=True)), day)
    retention.prune(project, day)

    assert "is no longer available" in agrees(path).text


@pytest.mark.parametrize("name", STREAMS)
def test_a_page_of_a_stream_that_grows_equals_one_without_a_cache(feed, see, name):
    path = next(TAPES.rglob(f"{name}*.events.jsonl"))
    fields = {"format": path.parent.name if path.parent.name in READERS else "native"}
    lines = path.read_bytes().splitlines()
    size = -(-len(lines) // 5)
    for start in range(0, len(lines), size):
        feed(*lines[start : start + size], producer="p", **fields)
        loops = LoopRecord.objects.values_list("session", "pk")
        shown = {
            page: see(page).html for page in map("/p/default/sessions/{0[0]}/loops/{0[1]}".format, loops)
        }
        for page, html in shown.items():
            cache.clear()
            assert body(html) == body(see(page).html), page


def test_pages_as_of_an_event_do_not_use_the_cache_of_the_present(finished, see, agrees):
    last = json.loads(f"[{max(JournalEvent.objects.values_list('pk', flat=True))}]")[0]
    past = see(f"{finished}?at={last}").html
    present = agrees(finished).html
    assert body(past) == body(see(f"{finished}?at={last}").html)
    assert f"at={last}&amp;" not in present


def test_raw_and_rendered_turns_are_cached_apart(feed, see):
    feed(build.agent_start(), build.turn_start(), build.turn_end(message=build.assistant("**Bold** words")))
    loop = LoopRecord.objects.get()
    path = f"/p/default/sessions/{loop.session_id}/loops/{loop.pk}"
    for _ in range(2):
        assert "<strong>Bold</strong>" in see(path).html
        assert "**Bold**" in see(f"{path}?raw=1").html


def test_a_cached_fragment_is_marked_for_a_swap_like_one_that_is_rendered(finished):
    pks = list(Turn.objects.values_list("pk", flat=True))
    shown = panels.TURN.query(pks)
    for pk in pks:
        rendered = panels.TURN.fragment(pk, shown[pk], oob=True)
        for _ in range(2):
            assert parse(panels.TURN.draw([pk], oob=True)[pk]).html() == parse(rendered).html()


def test_fragments_above_the_limit_are_not_cached(finished, see, rendered, monkeypatch):
    monkeypatch.setattr(panel, "CACHED_CHARS", 10)
    see(finished)
    see(finished)
    assert rendered.count("turn") == 6


def test_a_turn_without_a_sign_of_life_becomes_stale_at_once(feed, see, agrees, settings):
    settings.LOOPSCOPE_STALE_S = 100 * 365 * 24 * 3600
    feed(build.agent_start(), build.turn_start(), build.tool_start())
    path = f"/p/default/sessions/{Session.objects.get().pk}"
    turn = f"session-turn-{Turn.objects.get().pk}"
    assert "stale" not in see(path).part(turn)

    settings.LOOPSCOPE_STALE_S = 1

    assert "stale" in agrees(path).part(turn)


def test_turns_without_room_on_the_page_are_not_read_again(feed, see):
    long = "What the test says of it. " * 150
    feed(build.agent_start(), *(event for n in range(30) for event in turn(n, f"{long} {n}.")))
    path = f"/p/default/sessions/{Session.objects.get().pk}"
    assert 1 < see(path).html.count('class="turn') < 25
    with CaptureQueriesContext(connection) as captured:
        see(path)
    assert not [query for query in captured if "WITH RECURSIVE needed" in query["sql"]]

"""The query of the list, and the parameters that it replaces."""

import re
from datetime import timedelta

import pytest
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from dashboard.pages.sessions.params import Filters
from dashboard.pages.sessions.queries import rows
from dashboard.shared.queries.session_filter import TOKENS
from recorder.models import Session
from tests.dashboard.pages.sessions.test_page import SCENARIOS, spending
from tests.support import build
from tests.support.small_loop import Loop


@pytest.fixture
def three(feed):
    """A loop that used bash for a minute, one that failed at once, and one that waits."""
    feed(
        build.agent_start("slow.x.1", agent_id="my coder"),
        build.tool_start("slow.x.1"),
        build.tool_end("slow.x.1", is_error=True),
        build.agent_end("slow.x.1", at=59),
    )
    feed(*spending("dear.x.1", 900_000))
    waits = Loop("waits")
    feed(waits.start(), waits.turn(), waits.tool("t", "edit"), waits.approval("t", "rm"))


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    ("typed_in", "expected"),
    [
        ("status:running", {"waits"}),
        ("status:waiting", {"waits"}),
        ("status:completed", {"slow", "dear"}),
        ("status:completed status:running", set()),
        ("status:[completed,running]", {"slow", "dear", "waits"}),
        ("status:failed", set()),
        ('agent:"my coder"', {"slow"}),
        ("agent:coder", {"waits"}),
        ("model:claude-sonnet-4-6", {"dear"}),
        ("source:grida", set()),
        ("tool:bash", {"slow"}),
        ("tool:[bash,edit]", {"slow", "waits"}),
        ("has:error", {"slow"}),
        ("has:waiting", {"waits"}),
        ("has:error has:waiting", set()),
        ("cost:>1", {"dear"}),
        ("tokens:>100k", {"dear"}),
        ("tokens:>=900000", {"dear"}),
        ("tokens:>0.9M", set()),
        ("tokens:>0.89M", {"dear"}),
        ("tokens:>0.91M", set()),
        ("tokens:>=0", {"slow", "dear", "waits"}),
        ("duration:>=59s", {"slow"}),
        ("duration:>59s", set()),
        ("duration:>60s", set()),
        ("duration:>8999ms", {"slow", "dear"}),
        ("duration:>0.01m", {"slow", "dear"}),
        ("slow has:error", {"slow"}),
        ("dear has:error", set()),
    ],
)
def test_a_typed_condition_filters_the_list(see, typed_in, expected):
    page = see(q=typed_in)
    names = dict(Session.objects.values_list("pk", "session_id"))
    assert {names[int(pk)] for pk in re.findall(r'id="sessions-row-(\d+)"', page.html)} == expected
    assert "Ignored" not in page.text


def test_a_session_that_runs_counts_up_to_now(see, feed):
    feed(Loop("s").start())
    Session.objects.update(created_at=Session.objects.get().created_at - timedelta(hours=2))
    assert see(q="duration:>1h").titles == ["s"]
    assert see(q="duration:>3h").titles == []


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?status=running", {"waits"}),
        ("?status=completed", {"slow", "dear"}),
        ("?status=running&outcome=completed", {"slow", "dear", "waits"}),
        ("?agent=my+coder", {"slow"}),
        ("?tool=bash&tool=edit", {"slow", "waits"}),
        ("?has=error&has=waiting", set()),
        ("?cost=1", {"dear"}),
        ("?tokens=0.9M", {"dear"}),
        ("?duration=59s", {"slow"}),
        ("?q=slow&has=error", {"slow"}),
        ("?model=claude-sonnet-4-6&q=dear", {"dear"}),
    ],
)
def test_an_older_address_shows_the_same_rows(see, query, expected):
    page = see(query)
    names = dict(Session.objects.values_list("pk", "session_id"))
    assert {names[int(pk)] for pk in re.findall(r'id="sessions-row-(\d+)"', page.html)} == expected
    assert "Ignored" not in page.text


def test_a_query_in_error_shows_its_position_and_one_correction(see, feed):
    feed(Loop("s").start())
    page = see("?q=s+costs:>1&since=24h")
    assert "s <mark>costs</mark>:&gt;1" in page.html
    assert "Unknown key “costs” at character 3. Did you mean cost? Nothing was searched." in page.text
    assert 'name="q" value="s cost:&gt;1"' in page.html
    assert "Use cost" in page.text
    assert 'aria-invalid="true"' in page.html
    assert page.titles == []
    assert "Use" not in see("?q=cost:much").text
    assert "Remove it" in see("?q=s)").text


def test_a_menu_that_is_unticked_leaves_the_query(see, feed):
    feed(Loop("s").start())
    ticked = "?q=s+model:[a,b]&shown=model:a&shown=model:b&model=b"
    assert 'name="q" value="s model:b"' in see(ticked).html
    assert 'name="q" value="s"' in see("?q=s+model:a&shown=model:a").html
    assert 'name="q" value="s model:a"' in see("?q=s+model:a").html


def test_a_query_in_error_is_no_download(client, see, feed):
    feed(Loop("s").start())
    see()
    assert client.get("/p/default/sessions.csv?q=costs:1").status_code == 400
    assert client.get("/p/default/sessions.json?q=session:s").status_code == 200


def test_tokens_are_counted_as_the_rows_show_them(feed, project):
    for scenario in SCENARIOS:
        feed(scenario=scenario)
    counted = dict(Session.objects.alias(n=TOKENS).values_list("pk", TOKENS))
    shown = rows(project.pk, list(counted))
    assert counted == {pk: row.tokens for pk, row in shown.items()}
    assert any(counted.values())


@given(st.text(alphabet='status:has cost">=12.kM \0ü()[]-,', max_size=40))
def test_any_text_can_be_parsed(text):
    params = QueryDict(mutable=True)
    params["q"] = text
    read = Filters.parse(params)
    assert Filters.parse(QueryDict(read.query.removeprefix("?"))).pairs() == read.pairs()

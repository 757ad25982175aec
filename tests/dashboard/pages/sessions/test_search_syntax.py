"""Conditions typed into the search field of the list."""

import re
from datetime import timedelta

import pytest
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from dashboard.pages.sessions import search_syntax
from dashboard.pages.sessions.params import Filters
from dashboard.pages.sessions.queries import rows
from dashboard.shared.session_filter import TOKENS
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
        ("status:completed status:running", {"slow", "dear", "waits"}),
        ("status:failed", set()),
        ('agent:"my coder"', {"slow"}),
        ("agent:coder", {"waits"}),
        ("model:claude-sonnet-4-6", {"dear"}),
        ("source:grida", set()),
        ("tool:bash", {"slow"}),
        ("tool:bash tool:edit", {"slow", "waits"}),
        ("has:error", {"slow"}),
        ("has:waiting", {"waits"}),
        ("has:error has:waiting", set()),
        ("cost:>1", {"dear"}),
        ("tokens:>100k", {"dear"}),
        ("tokens:>=900000", {"dear"}),
        ("tokens:>0.9M", {"dear"}),
        ("tokens:>0.91M", set()),
        ("tokens:>0", {"slow", "dear", "waits"}),
        ("duration:>59s", {"slow"}),
        ("duration:>60s", set()),
        ("duration:>9000ms", {"slow", "dear"}),
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


@pytest.mark.parametrize(
    ("typed_in", "words"),
    [
        ("status:asleep", "Ignored status “asleep”: valid values are pending, running, waiting, stale,"),
        (
            "has:money",
            "Ignored has “money”: valid values are error, parallel, sub-agent, compaction, waiting.",
        ),
        ("has:", "Ignored has “”: valid values are"),
        ("cost:much", "Ignored cost “much”: write it as cost:>1."),
        ("cost:<1", "Ignored cost “<1”: write it as cost:>1."),
        ("cost:>much", "Ignored cost “much”: write it as cost:>1."),
        ("tokens:>9999999999", "Ignored tokens “9999999999”: write it as tokens:>10k."),
        ("duration:>5", "Ignored duration “5”: write it as duration:>5m."),
        ("duration:>999999d", "Ignored duration “999999d”: write it as duration:>5m."),
    ],
)
def test_an_invalid_condition_is_answered_with_the_valid_values(see, feed, typed_in, words):
    feed(Loop("s").start())
    page = see(q=typed_in)
    assert words in page.text
    assert page.titles == ["s"]


def test_an_unknown_condition_name_is_a_word(see, feed):
    feed(Loop("s").start(), *Loop("t").whole_turn("http://host"))
    for words in ("http://host", "foo:bar", "agent:"):
        page = see(q=words)
        assert "Ignored" not in page.text
        assert f'name="q" value="{words}"' in page.html


@pytest.mark.usefixtures("three")
def test_a_typed_condition_becomes_a_token_of_the_form(see):
    page = see(q="rest tool:bash has:error duration:>5s tokens:>1k since")
    assert 'name="q" value="rest since"' in page.html
    for name, value in (("tool", "bash"), ("has", "error"), ("duration", "5s"), ("tokens", "1k")):
        assert f'<input type="hidden" name="{name}" value="{value}">' in page.html
        assert f'aria-label="Remove {name} ' in page.html
    for name in ("tool=bash", "has=error", "duration=5s", "tokens=1k"):
        assert name in page.socket


def test_tokens_are_counted_as_the_rows_show_them(feed, project):
    for scenario in SCENARIOS:
        feed(scenario=scenario)
    counted = dict(Session.objects.alias(n=TOKENS).values_list("pk", TOKENS))
    shown = rows(project.pk, list(counted))
    assert counted == {pk: row.tokens for pk, row in shown.items()}
    assert any(counted.values())


@given(st.text(alphabet='status:has cost">=12.kM \0ü', max_size=40))
def test_any_text_can_be_parsed(text):
    params = QueryDict(mutable=True)
    params["q"] = text
    read = Filters.parse(params)
    assert Filters.parse(QueryDict(read.query.removeprefix("?"))).pairs() == read.pairs()


@pytest.mark.parametrize(
    ("text", "length"), [("400ms", timedelta(milliseconds=400)), ("1.5h", timedelta(minutes=90)), ("5", None)]
)
def test_a_duration_has_a_unit(text, length):
    assert search_syntax.duration(text) == length

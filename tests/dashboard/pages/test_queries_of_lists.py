"""Every list takes a query in the parameter `q`, and shows the position of an error."""

import pytest

from recorder.models import Session, SessionLabel
from tests.dashboard.pages.session.conftest import feed, project
from tests.support import build
from tests.support.small_loop import Loop

__all__ = ["feed", "project"]
LISTS = ("sessions", "attention", "evaluations", "compactions", "leaderboard", "costs")


@pytest.fixture
def recorded(feed, project, admin_client):
    feed(tape="03-parallel-judge")
    feed(tape="06-compaction")
    feed(*build.small_loop("plain.a.1"))
    waits = Loop("waits")
    feed(waits.start(), waits.turn(), waits.tool("t", "edit"), waits.approval("t", "rm"))

    def see(page, q):
        since = {"since": "2026-01-01"} if page == "costs" else {}  # the other pages show all by default
        answer = admin_client.get(f"/p/default/{page}", {"q": q, **since})
        assert answer.status_code == 200
        return answer.content.decode()

    return see


@pytest.mark.parametrize("page", LISTS)
def test_a_query_in_error_is_shown_with_its_position(recorded, page):
    html = recorded(page, "a costs:>1")
    assert "a <mark>costs</mark>:&gt;1" in html
    assert 'name="q" value="a cost:&gt;1"' in html


@pytest.mark.parametrize(
    ("page", "found", "other", "row"),
    [
        ("sessions", "tool:edit", "-turns:>=0", 'id="sessions-row-'),
        ("attention", "session:waits", "-session:waits", 'class="question"'),
        ("evaluations", "evaluation:judged", "-evaluation:judged", 'id="evaluations-row-'),
        ("compactions", "has:compaction", "-has:compaction", 'id="compactions-row-'),
        ("leaderboard", "evaluation:judged", "-evaluation:judged", 'class="data-table number ranking"'),
        ("costs", "evaluation:judged", "-turns:>=0", 'class="data-table number cost-table"'),
        ("costs", "role:judge", "role:judge -loops:>1", 'class="data-table number cost-table"'),
        ("leaderboard", "tool:edit OR loops:>1", "id:a*", 'class="data-table number ranking"'),
    ],
)
def test_a_query_selects_the_rows(recorded, page, found, other, row):
    assert row in recorded(page, found)
    assert row not in recorded(page, other)


@pytest.mark.parametrize("page", LISTS)
@pytest.mark.parametrize(
    "q", ["\0", "(" * 40, "a" * 2_001, "é OR (-x)", '"', "since:9999999w", "tokens:999999999999999M"]
)
def test_no_query_is_an_error_500(recorded, page, q):
    recorded(page, q)


def test_the_palette_finds_sessions_by_queries(recorded):
    assert ">edit" not in recorded("find", "tool:edit nothing")
    assert "waits" in recorded("find", "session:waits")
    recorded("find", "cost:>")


@pytest.mark.parametrize(
    ("page", "row"),
    [
        ("attention", 'class="question"'),
        ("evaluations", 'id="evaluations-row-'),
        ("compactions", 'id="compactions-row-'),
        ("leaderboard", 'class="data-table number ranking"'),
        ("costs", 'class="data-table number cost-table"'),
    ],
)
def test_mine_are_the_rows_of_sessions_whose_user_reads(recorded, page, row):
    assert row not in recorded(page, "is:mine")
    assert row in recorded(page, "-is:mine")
    for each in Session.objects.all():
        SessionLabel.objects.create(session=each, project=each.project, name="metadata.user", value="admin")
    assert row in recorded(page, "is:mine")
    assert row not in recorded(page, "-is:mine")

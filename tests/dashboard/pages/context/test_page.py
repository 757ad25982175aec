"""The page Context and cache as a reader sees it."""

import csv
import io
import json
from decimal import Decimal

import pytest

from recorder.ledger.sums import NO_PART
from recorder.models import LedgerState, LedgerSum, Project, Session
from tests.dashboard.pages.context.conftest import HOSTILE, carried
from tests.dashboard.pages.costs.test_page import words
from tests.recorder.ledger import carried_file

NONE = "\N{EN DASH}"
FREE = "home-grown-7b"


def rows(text, part=None):
    found = list(csv.DictReader(io.StringIO(text)))
    return [row for row in found if row["part"] == part] if part else found


def total(found, column):
    return sum(Decimal(row[column]) for row in found if row[column])


def nano(amount):
    return int(Decimal(amount).scaleb(9))


def test_a_project_without_calls_has_an_empty_page(see):
    page = see()

    assert "Nothing to show in the last 7 days" in page
    assert 'href="?since=30d"' in page
    assert "$" not in words(page)


def test_page_file_api_sessions_and_costs_have_the_same_sums(feed, see):
    feed(*carried(version="1"))
    feed(*carried("t.a.1", agent="writer", version="2", tools=("read_file", "jira")))

    found = rows(see(path="/p/default/context.csv"))
    causes = json.loads(see("?project=default&since=2026-02-01", "/api/v1/context/causes"))
    kinds = [row for row in found if row["part"] == "kind"]
    cost = nano(total(kinds, "cost_usd"))

    assert cost == sum(Session.objects.values_list("cost_nano", flat=True)) > 0
    assert cost == nano(causes["cost_usd"]) == sum(nano(kind["cost_usd"]) for kind in causes["kinds"])
    assert cost == nano(total(rows(see(path="/p/default/costs.csv")), "cost_usd"))
    assert cost == nano(total([row for row in found if row["part"] == "version"], "cost_usd"))
    assert cost == sum(LedgerSum.objects.exclude(kind__in=NO_PART).values_list("cost_nano", flat=True))
    lost = 2 * carried_file.LOST_NANO
    for part in ("cause", "session", "version"):
        assert nano(total([row for row in found if row["part"] == part], "lost_usd")) >= lost
    assert nano(causes["lost_usd"]) == nano(total([r for r in found if r["part"] == "cause"], "lost_usd"))
    assert sum(nano(cause["lost_usd"]) for cause in causes["causes"]) == nano(causes["lost_usd"])


def test_the_tool_is_shown_with_what_was_computed_by_hand(feed, see):
    feed(*carried())

    (tool,) = json.loads(see("?project=default&since=2026-02-01", "/api/v1/context/tools"))["tools"]
    shown = words(see())

    assert nano(tool["carried_usd"]) == carried_file.FILE_NANO
    assert (tool["name"], tool["results"], tool["result_tokens"]) == ("read_file", 1, 10_500)
    assert tool["carried_tokens"] == 20 * 10_500
    assert f"read_file {NONE} 1 10.5k 20.0 $0.135 $0.135 0%" in shown
    assert "Cache expired" in shown
    assert "was paid again because the prompt cache was missed." in shown


def test_a_definition_is_never_called_until_its_agent_calls_it(feed, see):
    feed(*carried(tools=("read_file", "jira", "figma")))

    (one, other) = json.loads(see("?project=default", "/api/v1/context/tools"))["never_called"]
    assert {*one["tools"], *other["tools"]} == {"jira", "figma"}
    assert one["turns"] == carried_file.CALLS
    assert "2 definitions" in words(see())


@pytest.mark.parametrize("query", ["agent=writer", "version=2", "model=claude-haiku-4-5"])
def test_filters_leave_the_calls_of_one_session(feed, see, query):
    feed(*carried(version="1"))
    feed(*carried("t.a.1", agent="writer", version="2", model="claude-haiku-4-5"))

    found = rows(see(f"?{query}", "/p/default/context.csv"))
    session = Session.objects.get(session_id="t")
    api = json.loads(see(f"?project=default&{query}", "/api/v1/context/versions"))["versions"]

    assert nano(total([row for row in found if row["part"] == "kind"], "cost_usd")) == session.cost_nano
    assert [row["name"] for row in found if row["part"] == "session"] == [session.title or "t"]
    assert [nano(version["cost_usd"]) for version in api] == [session.cost_nano]


def test_a_cause_narrows_the_sessions_alone(feed, see):
    feed(*carried())

    assert "Sessions that lost most" in see("?cause=ttl_lapsed")
    assert "Sessions that lost most" not in see("?cause=tools_changed")
    assert "Ignored cause" in see("?cause=append_only")


def test_rows_lead_to_their_sessions(feed, see):
    feed(*carried(version="4.1.9"))
    session = Session.objects.get()

    page = see()

    assert f"/p/default/sessions/{session.pk}?tab=context" in page
    assert "version%3A4.1.9+agent%3Aagent-a" in page or "agent%3Aagent-a+version%3A4.1.9" in page
    assert "tool%3Aread_file" in page
    listed = see("?q=version:4.1.9+agent:agent-a", "/p/default/sessions")
    assert f"/p/default/sessions/{session.pk}" in listed


def test_a_row_without_a_version_leads_nowhere_as_its_link_would_list_all(feed, see):
    feed(*carried())
    feed(*carried("t.a.1", version="2"))

    page = see()

    assert '<span class="code clip" dir="auto">none</span>' in page
    assert page.count('<a class="link code clip"') == 1


def test_without_prices_tokens_are_shown(feed, see):
    feed(*carried(model=FREE))

    shown = words(see())

    assert "tokens were sent again because the prompt cache was missed." in shown
    assert "$" not in shown


def test_a_loss_of_calls_without_a_price_is_none_in_money(feed, see):
    feed(*carried(model=FREE))
    priced = carried("t.a.1")
    second = [n for n, event in enumerate(priced) if event["type"] == "TurnStart"][1]
    feed(*priced[:second], priced[-1])

    page = see()
    shown = words(page)

    assert "Paid for context $" in shown
    assert "tokens were sent again because the prompt cache was missed." in shown
    assert "Lost to cache misses $0" not in shown
    assert "tokens, no price" in shown
    assert page.count('<rect class="miss') > 0


def test_a_result_of_a_tool_without_a_price_is_never_0(feed, see):
    feed(*carried())
    unpriced = json.dumps(carried("t.a.1", model=FREE)).replace("read_file", "query_logs")
    feed(*json.loads(unpriced))

    shown = words(see()).partition("Tools by carried cost")[2]
    row = shown.partition("query_logs")[2].partition("Total")[0]

    assert row.strip().endswith(f"no price {NONE} 0%")


def test_other_projects_and_days_are_not_counted(feed, see):
    other = Project.objects.create(slug="other")
    feed(*carried(), into=other)

    assert "Nothing to show" in see()
    feed(*carried("t.a.1"))
    assert "Nothing to show" in see("?since=2026-02-01&until=2026-02-09")
    assert "Nothing to show" not in see("?since=2026-02-01&until=2026-02-11")


def test_hostile_names_are_text(feed, see):
    feed(*carried(agent=HOSTILE, version=HOSTILE, tools=(HOSTILE, "read_file")))

    page = see()

    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert rows(see(path="/p/default/context.csv"), "version")[0]["version"] == HOSTILE


def test_lines_that_wait_are_counted(feed, see, monkeypatch):
    feed(*carried())
    assert "to go" not in see()
    monkeypatch.setattr("dashboard.pages.context.queries.BEHIND", 0)
    LedgerState.objects.update(cursor=1)

    assert "The ledger of earlier calls is being made:" in words(see())


def test_the_api_refuses_what_it_cannot_read(see, client):
    see()
    for query in ("since=soon", "since=2099-01-01", "since=2026-02-03&until=2026-02-01"):
        assert client.get(f"/api/v1/context/causes?project=default&{query}").status_code == 400

"""Usage, costs and filters of a cagent store with a hand-off agree with SQL over that store."""

import csv
import io
import json
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.core.management import call_command

from dashboard.rendering.number_format import money
from recorder.models import LoopRecord, Session
from tests.dashboard.page_model import parse
from tests.support.foreign_tapes import TAPES

pytestmark = pytest.mark.django_db(transaction=True)
HAIKU, SONNET = "claude-haiku-4-5", "claude-sonnet-4-5"
SINCE = "2026-01-01T00:00:00Z"
ANSWERS = (  # agent, model, cost in USD: one stream in which root hands off to the expert
    *(("root", HAIKU, cost) for cost in (0.00249755, 0.0024975, 0.0024975)),
    *(("expert", SONNET, cost) for cost in (0.00535, 0.00535, 0.00535, 0.00535, 0.00535, 0.00535885)),
)


@pytest.fixture
def store(tmp_path):
    """A store of cagent's schema: one session, one prompt, nine answers."""
    path = tmp_path / "session.db"
    shutil.copyfile(TAPES / "cagent" / "one-session.v15.db", path)
    with closing(sqlite3.connect(path)) as rows, rows:
        session = rows.execute("SELECT id FROM sessions").fetchone()[0]
        rows.execute("DELETE FROM session_items")
        messages = [("", {"role": "user", "content": "plan it"})]
        for agent, model, cost in ANSWERS:
            usage = {"input_tokens": 10, "output_tokens": 5, "cached_input_tokens": 100}
            answer = {"role": "assistant", "content": "done", "model": model, "cost": cost, "usage": usage}
            messages.append((agent, answer))
        for position, (agent, message) in enumerate(messages):
            message["created_at"] = f"2026-02-03T10:00:{position:02}Z"
            rows.execute(
                "INSERT INTO session_items (session_id, position, item_type, agent_name, message_json)"
                " VALUES (?, ?, 'message', ?, ?)",
                (session, position, agent, json.dumps(message)),
            )
    call_command("import_runs", str(path), verbosity=0)
    return path


def sums(store, key):
    """Return turns and cost of each model or agent, by SQL over the store."""
    statement = f"""SELECT {key}, COUNT(*), SUM(json_extract(message_json, '$.cost')) FROM session_items
                    WHERE json_extract(message_json, '$.role') = 'assistant' GROUP BY 1"""
    with closing(sqlite3.connect(store)) as rows:
        found = rows.execute(statement).fetchall()
    return {name: (turns, Decimal(f"{cost:.9f}")) for name, turns, cost in found}


KEYS = {"model": "json_extract(message_json, '$.model')", "agent": "agent_name"}


def usage(get, by, name):
    rows = get("usage", group_by=by, since=SINCE)["items"]
    return {row[name]: (row["turns"], Decimal(row["cost_usd"])) for row in rows}


@pytest.mark.parametrize("by", KEYS)
def test_the_api_agrees_with_the_store(project, store, get, by):
    expected = sums(store, KEYS[by])
    assert {turns for turns, _ in expected.values()} == {3, 6}

    assert usage(get, by, by) == expected
    assert usage(get, f"{by},day", by) == expected


def test_a_config_is_that_of_its_turns(project, store, get):
    assert usage(get, "config", "model") == sums(store, KEYS["model"])
    rows = get("usage", group_by="config", since=SINCE)["items"]
    assert [(row["model"], row["loops"]) for row in rows] == [(HAIKU, 1), (SONNET, 0)]
    assert all(row["p50_ms"] is not None for row in rows)


@pytest.mark.parametrize("by", KEYS)
def test_the_csv_agrees_with_the_store(project, store, see_csv, by):
    rows = see_csv(by)
    assert {row[by]: (int(row["turns"]), Decimal(row["cost_usd"])) for row in rows} == sums(store, KEYS[by])


@pytest.mark.parametrize("by", KEYS)
def test_the_costs_page_agrees_with_the_store(project, store, costs, by):
    page = parse(costs(f"?by={by}"))
    table = next(e for e in page.walk() if "cost-table" in e.attributes.get("class", ""))
    heads = [text(e) for e in table.walk() if e.attributes.get("scope") == "col"]
    rows = [[text(cell) for cell in row.elements] for row in table.walk() if row.tag == "tr"]
    turns, cost = heads.index("Turns"), heads.index("Cost")
    shown = {row[0]: (row[turns], row[cost]) for row in rows if row[0] not in (heads[0], "Total")}

    expected = sums(store, KEYS[by])
    assert shown == {name: (str(n), money(int(usd * 10**9))) for name, (n, usd) in expected.items()}
    total = next(row for row in rows if row[0] == "Total")
    assert (total[turns], total[cost]) == ("9", money(int(sum(usd for _, usd in expected.values()) * 10**9)))


def test_filters_of_the_costs_page_agree_with_the_store(project, store, see_csv):
    """The rows of a filter by one dimension are the turns that match, whatever the other dimension."""
    for query, expected in ((f"model={SONNET}", "expert"), ("agent=root", "root")):
        (row,) = see_csv("agent", query)
        turns, usd = sums(store, KEYS["agent"])[expected]
        assert (row["agent"], int(row["turns"]), Decimal(row["cost_usd"])) == (expected, turns, usd)


def text(element):
    """Return the words of an element."""
    own = (child if isinstance(child, str) else text(child) for child in element.children)
    return " ".join(" ".join(own).split())


@pytest.fixture
def costs(admin_client, monkeypatch):
    """Return the costs page, or its table as CSV, as of the day after the store."""

    def see(query, path="costs"):
        with monkeypatch.context() as patch:
            patch.setattr("django.utils.timezone.now", lambda: datetime(2026, 2, 4, tzinfo=UTC))
            return b"".join(admin_client.get(f"/p/default/{path}{query}")).decode()

    return see


@pytest.fixture
def see_csv(costs):
    """Return the rows of the costs table by model or agent."""

    def see(by, query=""):
        return list(csv.DictReader(io.StringIO(costs(f"?by={by}&{query}", "costs.csv"))))

    return see


@pytest.mark.parametrize(
    "query",
    [
        {"model": HAIKU},
        {"model": SONNET},
        {"config": SONNET},
        {"agent": "root"},
        {"agent": "expert"},
        {"agent": ["nobody", "expert"], "model": SONNET},
    ],
)
def test_sessions_are_found_by_every_model_and_agent_that_answered(project, store, get, query):
    assert get("sessions", **query)["total"] == 1


@pytest.mark.parametrize("query", [{"model": "gpt-5"}, {"agent": "nobody"}, {"config": "gpt-5"}])
def test_others_find_nothing(project, store, get, query):
    assert get("sessions", **query)["total"] == 0


def test_a_loop_lists_its_configs_in_order_of_first_answer(project, store, get):
    (loop,) = get("loops")["items"]
    assert loop["config"]["model"] == HAIKU
    assert [config["model"] for config in loop["configs"]] == [HAIKU, SONNET]
    assert loop["configs"][1]["config_id"] is None


def test_the_list_of_sessions_names_both(project, store, admin_client):
    html = admin_client.get("/p/default/sessions?since=all").content.decode()
    assert Session.objects.count() == 1
    assert LoopRecord.objects.get().has_switched
    assert SONNET in html
    assert "expert" in html

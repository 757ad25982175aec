"""The tab Context: figures computed by hand on page and in the file, states, scopes, and hostile names."""

import csv
import io
import json
import re
from decimal import Decimal

import pytest

from recorder.ledger import calls, follower
from recorder.models import AuditEntry, LedgerBlock, LedgerCall, Session, Turn
from tests.recorder.ledger import carried_file, changing_requests
from tests.support import build

HOSTILE = '"><img src=x onerror=alert(1)>'


@pytest.fixture
def carried(feed):
    """The session that is computed by hand, with its ledger."""
    feed(*carried_file.events())
    follower.run_all()
    return Session.objects.get()


@pytest.fixture
def ledger_file(reader):
    """Return the rows of a downloaded block ledger."""

    def ledger_file(session, query=""):
        answer = reader.get(f"/p/default/sessions/{session.pk}/context.csv{query}")
        assert answer.status_code == 200
        return list(csv.DictReader(io.StringIO(answer.content.decode())))

    return ledger_file


def amounts(page, part):
    """Return the exact amounts of a part of a page, in order."""
    found = page.root.find(part)
    return [Decimal(each.attributes["value"]) for each in found.walk() if each.tag == "data"]


def test_the_carried_cost_computed_by_hand_is_on_the_page_and_in_the_file(carried, session, ledger_file):
    page = session(query="?tab=context")

    expected = Decimal(carried_file.FILE_NANO).scaleb(-9)
    assert f'<data value="{expected}" title="${expected}">$0.135</data>' in page.html
    assert re.search(r"read_file poetry\.lock 10,500 3 . 22 20 \$0\.135 compaction", page.text)
    file = ledger_file(carried)[0]
    assert (file["kind"], file["name"], file["detail"]) == ("tool_result", "read_file", "poetry.lock")
    assert Decimal(file["carried_usd"]) == expected
    assert [file[name] for name in ("tokens", "tokens_source", "first_turn", "last_turn", "turns")] == [
        *("10500", "exact", "3", "22", "20")
    ]


def test_file_page_and_api_add_up_to_the_same_amounts(carried, session, ledger_file, reader):
    api = reader.get("/api/v1/context?project=default&session_id=s").json()
    rows = ledger_file(carried)
    page = session(query="?tab=context&rows=all")

    of_kind = {name: [row for row in rows if row["kind"] == name] for name in ("output", "undivided")}
    blocks = [row for row in rows if row["kind"] not in of_kind]
    assert sum(Decimal(row["carried_usd"]) for row in blocks) == Decimal(api["context_usd"])
    assert sum(Decimal(row["carried_usd"]) for row in of_kind["output"]) == Decimal(api["output_usd"])
    assert sum(Decimal(row["carried_usd"]) for row in rows) == Decimal(api["cost_usd"])
    *shown, context, output, cost = amounts(page, f"session-context-{carried.pk}")[3:]
    assert (context, output, cost) == tuple(
        Decimal(api[name]) for name in ("context_usd", "output_usd", "cost_usd")
    )
    assert sum(shown[-len(shown) + 1 :]) == context


def test_a_miss_is_opened_with_its_multiplication_and_its_idle_time(carried, session):
    page = session(query=f"?tab=context&turn={carried_file.MISSED_AT}")

    assert "Turn 12 paid $0.0444 again: the cache expired." in page.text
    product = r"12,865 tokens . \(\$3\.75 cache write . \$0\.30 cache read\) per million = \$0\.0444 lost"
    assert re.search(product, page.text)
    assert carried_file.LOST_TOKENS == 12_865
    assert re.search(r"passed since the call before ?; the provider keeps a prefix for 5m 00s", page.text)


def test_a_miss_says_what_changed_how_much_was_read_and_what_the_provider_says(feed, session):
    events = changing_requests.events()
    ends = [event for event in events if event["type"] == "TurnEnd"]
    ends[1]["message"]["diagnostics"] = {"cache_miss_reason": {"type": "system_changed"}}
    ends[2]["message"]["diagnostics"] = {"cache_miss_reason": {"type": "tools_changed"}}
    ends[8]["message"]["diagnostics"] = {"cache_miss_reason": {"type": "previous_message_not_found"}}
    feed(*events)
    follower.run_all()

    pages = [session(query=f"?tab=context&turn={turn}").text for turn in (2, 3, 9)]

    assert "again: the system prompt changed (a time in it)." in pages[0]
    assert "0% of the cache was read" in pages[0]
    assert re.search(r"The provider's own reason: system_changed ?\. It says the same\.", pages[0])
    assert "It disagrees with the requests as they were recorded." in pages[1]
    assert "again: the request changed, and the cache had expired by then (a time)." in pages[2]
    assert "It neither confirms nor contradicts the verdict." in pages[2]


def test_an_edited_history_shows_both_texts_with_the_change_marked(carried, session):
    page = session(query=f"?tab=context&turn={carried_file.CALLS}")

    assert "<del>Read</del>" in page.html or "<del>" in page.html
    assert "[Summary]" in page.text
    assert "block 2" in page.text


def test_the_readout_shows_the_chosen_turn_and_links_to_its_neighbours(carried, session):
    page = session(query="?tab=context&turn=5")

    assert "Turn 5" in page.text
    assert {"turn=4", "turn=6"} <= {part for link in page.links for part in re.split("[?&#]", link)}


def test_as_of_an_event_page_and_file_have_the_calls_that_had_ended(carried, session, ledger_file):
    tenth = Turn.objects.get(ordinal=9)

    page = session(query=f"?tab=context&at={tenth.end_event}")
    file = ledger_file(carried, f"?at={tenth.end_event}")[0]

    assert re.search(r"read_file poetry\.lock 10,500 3 . 10 8 \S+ in use", page.text)
    assert (file["last_turn"], file["turns"], file["left_by"]) == ("10", "8", "")
    assert f"context.csv?at={tenth.end_event}" in page.html


def test_without_an_ended_call_the_page_says_so(feed, session):
    feed(build.agent_start("s.a.1"), build.turn_start("s.a.1"))

    assert "No call has ended here yet" in session(query="?tab=context").text


def test_calls_that_the_ledger_lacks_are_counted(feed, session):
    feed(*carried_file.events())

    assert "23 calls are being added." in session(query="?tab=context").text
    follower.run_all()
    page = session(query="?tab=context")
    assert "being added" not in page.text
    assert 'aria-valuemax="23"' in page.html


def test_calls_without_a_price_or_a_request_show_tokens_and_say_so(feed, session):
    usage = {"input": 900, "output": 20}
    answer = build.assistant(model="nobody-1", provider="nobody") | {"usage": usage}
    feed(
        build.agent_start("s.a.1"),
        build.message_end("s.a.1", answer),
        build.turn_end("s.a.1", message=answer, usage=usage),
    )
    follower.run_all()

    page = session(query="?tab=context")

    assert "The requests of 1 call were not recorded." in page.text
    assert "Carried tokens are shown instead of carried cost." in page.text
    assert "No cost: nobody-1." in page.text
    assert ". Carried tokens are shown" in page.html
    assert "$" not in page.part(f"session-context-{Session.objects.get().pk}")


def test_the_scope_of_a_loop_numbers_its_turns_as_the_conversation_does(feed, session, ledger_file):
    feed(*carried_file.events())
    feed(*build.small_loop("s.b.1"))
    follower.run_all()
    loop = Turn.objects.order_by("-end_event")[0].loop_id

    whole = session("s", "?tab=context")
    scoped = session("s", f"?tab=context&scope={loop}")

    assert 'aria-valuemax="24"' in whole.html
    assert 'aria-valuemax="1"' in scoped.html
    assert "Loop 2" in scoped.text
    rows = ledger_file(Session.objects.get(), f"?scope={loop}")
    assert {row["first_turn"] for row in rows if row["kind"] not in ("output", "undivided")} == {"1"}


@pytest.mark.parametrize(
    ("query", "kinds"),
    [("q=poetry", {"tool_result"}), ("kind=system", {"system"}), ("call=read", {"tool_result"})],
)
def test_a_filter_narrows_the_rows_and_keeps_the_totals(carried, session, query, kinds):
    page = session(query=f"?tab=context&{query}")

    table = page.html.split('class="data-table number block-ledger"')[1]
    assert set(re.findall(r'<i class="swatch block-(\w+)">', table)) == kinds
    assert f"of {LedgerBlock.objects.count()}" in page.text
    assert (
        amounts(page, f"session-context-{carried.pk}")[-1]
        == amounts(session(query="?tab=context"), f"session-context-{carried.pk}")[-1]
    )


@pytest.mark.parametrize("by", ["kind", "tool", "price"])
def test_the_film_as_a_table_adds_up_to_what_was_sent(carried, session, by):
    page = session(query=f"?tab=context&by={by}")

    table = page.html.split('aria-label="The film as a table"')[1].split("</table>")[0]
    for row in re.findall(r"<tr>(.*?)</tr>", table.split("<tbody>")[1], re.DOTALL):
        *series, sent, _lost, _cost = (
            re.sub(r"[\s,]", "", cell) for cell in re.findall(r'<td class="right">(.*?)</td>', row, re.DOTALL)
        )
        assert sum(map(int, series)) == int(sent)


def test_hostile_names_are_text(feed, session, ledger_file):
    feed(
        build.agent_start("s.a.1"),
        build.turn_start("s.a.1"),
        build.tool_start("s.a.1", "c", HOSTILE, {"path": HOSTILE}),
        build.tool_end("s.a.1", "c", HOSTILE),
        build.turn_end("s.a.1"),
        build.message_end("s.a.1", build.tool_result(call="c", text=HOSTILE, name=HOSTILE)),
        build.turn_start("s.a.1", index=1),
        build.turn_end("s.a.1", turn_index=1),
    )
    follower.run_all()
    assert LedgerBlock.objects.filter(name=HOSTILE).exists()

    for by in ("kind", "tool"):
        page = session(query=f"?tab=context&by={by}&q=%3Cimg%20src%3Dx&turn=2")
        assert "<img src=x" not in page.html
        assert HOSTILE in page.text
    assert HOSTILE in {row["name"] for row in ledger_file(Session.objects.get())}


def test_the_download_is_in_the_audit_log(carried, ledger_file):
    ledger_file(carried, "?scope=0")

    entry = AuditEntry.objects.get(action="export")
    assert (entry.target, entry.after["as"]) == ("context", "csv")


def test_queries_do_not_grow_with_calls(feed, session, django_assert_max_num_queries):
    feed(*carried_file.events())
    follower.run_all()
    assert LedgerCall.objects.count() == carried_file.CALLS

    with django_assert_max_num_queries(69):
        session(query="?tab=context")


def test_calls_that_the_ledger_skipped_are_named_with_their_cost(feed, session, monkeypatch):
    call_of = calls.call_of

    def broken(ended, *others):
        if ended.id == Turn.objects.get(ordinal=4).pk:
            raise ZeroDivisionError
        return call_of(ended, *others)

    monkeypatch.setattr("recorder.ledger.calls.call_of", broken)
    feed(*carried_file.events())
    follower.run_all()

    text = session(query="?tab=context").text

    assert "The ledger could not take 1 call." in text
    assert "is not divided." in text
    assert "being added" not in text


def test_a_change_that_lost_nothing_is_no_miss(feed, session):
    feed(*carried_file.events())
    follower.run_all()

    text = session(query="?tab=context").text

    assert "1 miss, 1 change that lost nothing, 1 first call, 20 append only" in text
    assert "and 1 cache miss cost" in text


def test_loops_with_other_limits_have_lines_of_their_own(feed, session):
    for loop, window in (("s.a.1", 20_000), ("s.b.1", 5_000)):
        config = {**carried_file.CONFIG, "context_window": window}
        more = {"loop_id": loop}
        events = [event | more for event in carried_file.events()]
        feed(events[0] | {"config_snapshot": config}, *events[1:])
    follower.run_all()

    page = session(query="?tab=context")

    assert len(page.html.split('class="film-limit" d="')[1].split('"')[0].split("M")) == 3
    assert "The limits of the loops are 5.0k to 20.0k tokens; a line shows those that are near." in page.text


def test_hostile_names_are_text_and_counts_that_do_not_add_up_are_reported(feed, session):
    usage = {"input": 900, "output": 20, "reasoning": 900, "total_tokens": 5}
    names = ('"><script>alert(1)</script>', "\u202e\u05e9gpj.exe", "a\x00b", "W" * 10_000)
    feed(build.agent_start("s.a.1"))
    for n, name in enumerate(names):
        request = build.turn_request("s.a.1", index=n)
        tools = [{"name": each, "description": "Does it."} for each in names]
        message = build.assistant() | {"usage": usage}
        call = {"type": "toolCall", "id": f"c{n}", "name": name, "arguments": {"path": name}}
        message["content"] = [call]
        feed(
            build.turn_start("s.a.1", index=n), request | {"payload": {**request["payload"], "tools": tools}}
        )
        feed(build.message_end("s.a.1", message), build.tool_start("s.a.1", call=f"c{n}", name=name))
        feed(build.tool_end("s.a.1", call=f"c{n}", name=name))
        feed(build.turn_end("s.a.1", message=message, usage=usage, turn_index=n))
    follower.run_all()

    for by in ("kind", "tool", "price"):
        page = session(query=f"?tab=context&by={by}")
        assert "<script>alert" not in page.html
        assert "W" * 1_000 not in page.html
        why = "Their tokens were not reported, or the reported counts do not add up."
        assert f"No cost: claude-sonnet-4-6. {why}" in page.text


def test_a_loss_of_calls_without_a_price_is_in_tokens_beside_costs(feed, session):
    lines = json.dumps(carried_file.events()).replace(carried_file.CONFIG["model"], "house-model")
    usage = {"input": 100, "output": 20, "cache_read": 0, "cache_write": 0}
    answer = {
        **build.assistant(),
        "model": carried_file.CONFIG["model"],
        "provider": "anthropic",
        "usage": usage,
    }
    feed(
        *json.loads(lines),
        build.agent_start("s.b.1", config_snapshot=carried_file.CONFIG),
        build.turn_start("s.b.1"),
        build.turn_request("s.b.1"),
        build.message_end("s.b.1", answer),
        build.turn_end("s.b.1", message=answer, usage=usage),
    )
    follower.run_all()

    page = session(query="?tab=context")

    assert "Paid for context $" in page.text
    lost = f"{carried_file.LOST_TOKENS:,} tokens"
    assert f"Lost to cache misses {lost} no price, 1 of 24 turns" in page.text
    assert f"1 cache miss sent {lost} again, without a price" in page.text

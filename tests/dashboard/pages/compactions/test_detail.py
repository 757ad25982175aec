"""One compaction before and after: every number, zone and text equals what was recorded."""

from datetime import timedelta
from pathlib import Path

from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.rendering.number_format import NONE
from recorder.access import tokens
from recorder.journal import append
from recorder.models import Compaction, JournalEvent
from recorder.operations import retention
from tests.dashboard.open_page import in_thread
from tests.dashboard.pages.compactions.conftest import LOOP, reread, turn
from tests.support import build

TAPES = Path(__file__).parents[3] / "tapes" / "phi-core"
AGENT_SIDE = TAPES / "06-compaction-block-based.agent-side-session.json"


def verdict(page):
    (found,) = [e.attributes["data-verdict"] for e in page.root.walk() if "data-verdict" in e.attributes]
    return found


def test_a_reported_reduction_that_the_next_request_contradicts(feed, compaction):
    feed(tape="06")
    page = compaction(1)

    assert "Compaction in loop 1, turn 5 " in page.text
    assert verdict(page) == "refuted"
    claimed = "The event reports 9 to 7 messages and 5,031 to 461 tokens"
    assert f"{claimed}, but the next request held all 9 messages unchanged." in page.text
    assert "Reported by the event 9 → 7 5,031 → 461 Sent to the model 9 → 9 4,200 → 5,100" in page.text
    assert "Kept 20 kB 9 messages, unchanged" in page.text
    assert "Summarised" not in page.text
    assert "Saved since, 2 calls nothing, the context grew Net savings $0" in page.text


def test_a_compaction_loop_is_compared_with_the_request_of_the_next_loop(feed, compaction):
    feed(tape="06")
    page = compaction(2)

    assert "Compaction before loop 3 " in page.text
    assert "in a separate loop" in page.text
    assert "Reported by the event 10 → 6 1,729 → 261 Sent to the model 12 → 7 2,600 → 1,900" in page.text
    assert verdict(page) == "differs"
    assert "Kept first 25 B 1 message, unchanged" in page.text
    assert "Summarised 20 kB → 84 B 8 messages, 3 messages instead" in page.text
    for text in (
        "[Summary] Checking log part 2.",
        "[Summary] Checking log part 3.",
        "Which batch was slowest?",
    ):
        assert text in page.text
    assert "Kept recent 5.0 kB → 801 B 3 messages, 1 truncated log 4.9 kB to 730 B" in page.text
    assert "Saved since, 1 call 700 tokens, $0.0021 Net savings $0.0021, without cost" in page.text


def test_an_imported_block_is_a_source_of_its_compaction(feed, project, compaction, see, tmp_path):
    live = tmp_path / "live.jsonl"
    live.write_bytes((TAPES / "06-compaction-block-based.events.jsonl").read_bytes())
    for path in (live, AGENT_SIDE):
        call_command("import_runs", str(path), project="default", verbosity=0)
    page = compaction(2)

    assert Compaction.objects.count() == 3
    assert "2 of 2" in page.text
    assert "Block of the imported session 12 → 6" in page.text
    # The block says what was put in, so that the question is distinguished from the summaries.
    assert "8 messages, 2 messages instead" in page.text
    assert "New since 24 B 1 message after the compaction Which batch was slowest?" in page.text
    assert "the requests held 12 before and 7 after, 1 of them new" in page.text
    assert see("/p/default/compactions").html.count('class="compaction-row"') == 2


def test_every_event_of_a_compaction_links_to_it(project, reader, tmp_path):
    live = tmp_path / "live.jsonl"
    live.write_bytes((TAPES / "06-compaction-block-based.events.jsonl").read_bytes())
    for path in (live, AGENT_SIDE):
        call_command("import_runs", str(path), project="default", verbosity=0)
    first, second, block = Compaction.objects.order_by("pk")
    events = [first.start_event, first.end_event, second.end_event, block.end_event]

    ways = [reader.get(f"/p/default/events/{event}/compaction") for event in events]
    assert [int(way["Location"].rpartition("/")[2]) for way in ways] == [
        first.pk,
        first.pk,
        second.pk,
        second.pk,
    ]
    assert reader.get("/p/default/events/1/compaction").status_code == 404


def test_the_read_api_equals_the_page(project, client, tmp_path):
    live = tmp_path / "live.jsonl"
    live.write_bytes((TAPES / "06-compaction-block-based.events.jsonl").read_bytes())
    for path in (live, AGENT_SIDE):
        call_command("import_runs", str(path), project="default", verbosity=0)
    bearer = {"Authorization": f"Bearer {tokens.issue(project, 'reads', ['read'])}"}

    items = client.get("/api/v1/compactions", headers=bearer).json()["items"]
    summary_text = [(each["content"], each["sent_messages"], each["sent_tokens"]) for each in items]
    assert summary_text == [("request", 9, 5_100), ("block", 7, 1_900)]


def test_a_block_is_compared_with_the_messages_of_its_loop(project, compaction):
    call_command("import_runs", str(AGENT_SIDE), project="default", verbosity=0)
    page = compaction(1)

    assert f"Reported by the event {NONE} {NONE} Sent to the model not recorded" in page.text
    assert "Block of the imported session 10 → 6" in page.text
    assert "Summarised 1.6 kB → 60 B 6 messages, 2 messages instead" in page.text
    assert "Kept recent 5.0 kB → 801 B 3 messages, 1 truncated log 4.9 kB to 730 B" in page.text


def test_compactions_without_effect_or_with_fewer_tokens_in_as_many_messages(feed, compaction):
    feed(tape="07")

    idle, refuted = compaction(1), compaction(2)
    assert (verdict(idle), verdict(refuted)) == ("idle", "refuted")
    assert "No effect, as reported: the next request held all 9 messages" in idle.text
    assert "reports 6,286 to 1,076 tokens, but the next request held all 11 messages" in refuted.text


def test_a_repeated_read_is_listed_and_net_savings_equal_the_hand_calculation(feed, compaction):
    feed(*reread())
    page = compaction()

    assert verdict(page) == "agrees"
    assert "Summarised 4.0 kB → 32 B 2 messages, 1 message instead" in page.text
    assert "read_file a.py loop 1, turn 1 summarised loop 1, turn 3" in page.text
    assert "b.py loop" not in page.text
    assert "Input per call 20.0k → 6.0k Cost per call, input side $0.0401 → $0.0218" in page.text
    assert "Cache rebuilt 3.0k tokens, $0.0100" in page.text
    assert "Saved since, 2 calls 28.0k tokens, $0.0562" in page.text
    assert "Net savings $0.0462, paid back after 1 call" in page.text
    links = [link for link in page.links if "turn=" in link and "#session-turn-" in link]
    assert {link.partition("turn=")[2][0] for link in links} >= {"1", "3"}


def test_a_compaction_without_content_shows_counts_only(feed, compaction):
    feed(
        build.agent_start(),
        build.turn_start(),
        build.compaction_ended(before=(None, None), after=(None, None)),
    )
    page = compaction()

    assert f"Reported by the event {NONE} {NONE} Sent to the model not recorded" in page.text
    assert "The content of this compaction was not recorded, only counts." in page.text
    assert "No request was recorded after this compaction" in page.text
    assert "The context size of the calls around this compaction is unknown." in page.text


def test_a_summary_names_the_runtime_that_reported_it(feed, compaction):
    feed(tape="all-event-types")
    page = compaction()

    assert f"Reported by cagent {NONE} 1,770 → 210" in page.text
    assert "Summary reported by cagent" in page.text
    assert "User wants build cleaned but keep b.o; rm was rejected." in page.text


def test_a_summary_of_two_megabytes_is_folded(feed, compaction, reader):
    text = "<script>alert(1)</script> é " * 80_000
    feed(build.agent_start(), build.compaction_started(), build.compaction_ended(summary=text))
    page = compaction()

    assert len(page.html) < 120_000
    assert "<script>alert" not in page.html
    (whole,) = [link for link in page.links if link.endswith("text?at=summary")]
    assert len(reader.get(whole).content.decode()) == len(text)


def test_thousands_of_messages_are_folded_into_a_few_rows(feed, compaction):
    many = [build.user(f"message {n}") for n in range(3_000)]
    done = build.assistant("Done.")
    passed = [build.compaction_started(), build.compaction_ended()]
    feed(
        build.agent_start(),
        *turn(0, many, done, (9, 0, 0)),
        *turn(1, many[2_990:], done, (9, 0, 0), before=passed),
    )
    page = compaction()

    assert "Dropped 35 kB 2,991 messages, not replaced" in page.text
    assert "2,982 more groups" in page.text
    assert len(page.html) < 60_000


def test_the_number_of_queries_does_not_depend_on_the_number_of_compactions(feed, reader):
    counts = []
    for passes in (1, 40):
        name = f"s{passes}.a.1"
        story = [build.compaction_started(name), build.compaction_ended(name)] * passes
        feed(build.agent_start(name), *turn(0, [], build.assistant(), (9, 0, 0), before=story, loop=name))
        found = Compaction.objects.filter(loop__loop_id=name).latest("pk")
        path = f"/p/default/sessions/{found.loop.session_id}/compactions/{found.pk}"
        reader.get(path)
        with CaptureQueriesContext(connection) as queries:
            reader.get(path)
        counts.append(len(queries))
    assert counts[0] == counts[1]
    assert counts[1] <= 40


def test_a_compaction_of_another_session_or_project_is_not_found(feed, reader):
    feed(*reread())
    pk = Compaction.objects.get().pk

    assert reader.get(f"/p/default/sessions/999/compactions/{pk}").status_code == 404
    assert reader.get(f"/p/other/sessions/1/compactions/{pk}").status_code == 404
    reader.logout()
    assert reader.get(f"/p/default/sessions/1/compactions/{pk}").status_code == 302


async def test_an_open_page_updates_when_the_compaction_ends(place, open_page):
    events = reread()
    at = next(n for n, event in enumerate(events) if event["type"] == "CompactionEnded")
    await in_thread(place.feed, *events[:at])
    path = await in_thread(_path)
    page = await open_page(path)
    assert "The context is being compacted now." in page.shown.root.html()
    for lines in (events[at : at + 1], events[at + 1 : at + 4], events[at + 4 :]):
        await in_thread(place.feed, *lines)
        await page.agree()
    assert "has the reported number of messages" in page.shown.root.html()


def _path():
    found = Compaction.objects.latest("pk")
    return f"/p/default-project/sessions/{found.loop.session_id}/compactions/{found.pk}"


def test_the_tab_lists_the_compactions_on_the_context_chain(feed, loop):
    feed(tape="06")
    page = loop("sonnet-4-6.1", query="?tab=compactions")

    part = page.part("loop")
    assert "Compactions 2" in part
    assert "2 compactions shaped the context of this loop." in part
    assert part.index("Compaction before loop 3") < part.index("Compaction in loop 1, turn 5")
    assert "summarised, 8 messages" in part
    assert "but the next request held all 9 messages unchanged." in part


def test_the_model_calls_of_a_compaction_are_subtracted(feed, compaction):
    """100,000 tokens at $3 a million and 20 at $15 cost $0.3003; 18,000 saved cost $0.054 a call."""
    name, requests = "s.a.1", build.user("Shorten this.")
    first = turn(0, [build.user()], build.assistant("Read."), (20_000, 0, 0))
    passed = [build.compaction_started(name, at=12), build.compaction_ended(name, at=13)]
    alone = build.agent_start(name, parent=name, kind="Compaction", at=11)
    shortening = turn(0, [requests], build.assistant("Short."), (100_000, 0, 0), before=passed)
    later = turn(0, [build.user("[Summary]")], build.assistant("Done."), (2_000, 0, 0), loop="s.a.2")
    feed(build.agent_start(name), *first, build.agent_end(name))
    feed(alone, *shortening, build.agent_end(name, at=20))
    feed(build.agent_start("s.a.2", parent=name, kind="Default", at=30), *later)
    page = compaction()

    assert "Compaction before loop 3" in page.text
    assert "Sent to the model 2 → 1 20,000 → 2,000" in page.text
    assert "Cost of the compaction $0.300" in page.text
    assert "Saved since, 1 call 18.0k tokens, $0.0540" in page.text
    assert "Net savings -$0.246, paid back after 6 calls" in page.text


def test_a_failed_call_before_the_compaction_is_skipped(feed, compaction):
    task, summary = build.user("Fix the parser."), build.user("[Summary]")
    overflow = build.assistant("", stop="error", error="prompt is too long")
    passed = [
        build.compaction_started(at=22),
        build.compaction_ended(before=(3, 9_000), after=(1, 90), at=23),
    ]
    failed = [build.turn_start(index=1), build.turn_end(message=overflow)]
    feed(
        build.agent_start(),
        *turn(0, [task], build.assistant("Read."), (9_000, 0, 0)),
        *failed,
        *turn(2, [summary], build.assistant("Done."), (2_000, 0, 0), before=passed),
    )
    page = compaction()

    assert "Sent to the model 3 → 1 9,000 → 2,000" in page.text
    assert "Saved since, 1 call 7.0k tokens, $0.0210" in page.text


def test_pruned_requests_are_reported(feed, compaction, project):
    now = timezone.now()
    feed(*reread(), received_at=now - timedelta(days=60))
    assert verdict(compaction()) == "agrees"
    append.mark_consolidated(list(JournalEvent.objects.values_list("pk", flat=True)), now)
    retention.prune(project, now)

    page = compaction()
    assert verdict(page) == "gone"
    assert "The requests around this compaction were pruned on" in page.text
    assert "Reported by the event 5 → 4 20,100 → 6,100" in page.text
    assert "Sent to the model not recorded 20,000 → 6,000" in page.text
    assert "Net savings $0.0462, paid back after 1 call" in page.text
    assert "it is unknown whether the first results were still in the context" in page.text


def test_the_tab_as_of_an_event_shows_that_state(feed, loop):
    feed(tape="06")
    first = Compaction.objects.order_by("pk")[0]

    running, done = (
        loop("sonnet-4-6.1", query=f"?tab=compactions&at={at}").part("loop")
        for at in (first.start_event, first.end_event)
    )
    assert "The context is being compacted now." in running
    assert "No request was recorded after this compaction" in done


async def test_the_tab_shows_a_compaction_while_it_runs_and_when_it_has_ended(place, open_page):
    events = reread()
    at = next(n for n, event in enumerate(events) if event["type"] == "CompactionStarted")
    await in_thread(place.feed, *events[:at])
    (path,) = await in_thread(place.loops)
    page = await open_page(f"{path}?tab=compactions")
    for lines in (events[at : at + 1], events[at + 1 : at + 4], events[at + 4 :]):
        await in_thread(place.feed, *lines)
        await page.agree()
    assert "1 compaction shaped the context of this loop." in page.shown.root.html()


def test_a_session_without_compactions_has_an_empty_tab(feed, loop):
    feed(build.agent_start(LOOP), build.turn_start(LOOP))

    assert "No compaction was recorded in this session." in loop("a.1", query="?tab=compactions").part("loop")

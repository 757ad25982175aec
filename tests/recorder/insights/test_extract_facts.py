"""Facts from a model: a local server that answers, is slow, fails and invents; nothing else depends on it."""

import json
import time

import pytest

from recorder.insights.consolidate import consolidate
from recorder.insights.extract_facts import INVALID_ANSWERS_MAX, TIMEOUTS_IN_ROW, TIMEOUTS_MAX
from recorder.models import EventRecord, Insight, InsightEvidence, JournalEvent, Project, ReadLoop
from tests.recorder.insights.fixtures import learned
from tests.recorder.insights.llm_server import reply, saying, talk, true
from tests.recorder.insights.projects import feed, quiet

pytestmark = pytest.mark.django_db(transaction=True)


def raw(body, status=200, **headers):
    return lambda handler, _: reply(handler, body, status, **headers)


def hang(handler, _):
    time.sleep(5)  # longer than the client waits


def drip(handler, _):
    """Send a byte now and then, for ever."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    for _ in range(100):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.1)  # so that no single read takes too long


def flood(handler, _):
    handler.send_response(200)
    handler.end_headers()
    for _ in range(400):
        handler.wfile.write(b"x" * 65536)


def hang_up(handler, _):
    handler.connection.close()


@pytest.fixture
def project(db):
    return Project.objects.create(slug="default")


def test_a_fact_is_stored_with_the_events_that_support_it(project, speaker):
    feed(project, talk("s.a.1"), talk("t.a.1"))
    speaker.answers = [saying(true)]

    done = consolidate(project, quiet)

    assert str(done.facts) == "facts: 2 in 2 loops, 0 dropped, 0 invalid answers"
    fact = Insight.objects.get(kind="fact")
    assert (fact.statement, fact.agent_id, fact.times, fact.loops) == ("The project uses uv.", "coder", 2, 2)
    cited = [each.events[0] for each in InsightEvidence.objects.filter(insight=fact)]
    assert set(EventRecord.objects.filter(pk__in=cited).values_list("type", flat=True)) == {"MessageEnd"}
    path, headers, counts = speaker.requests[0]
    assert (path, headers["Authorization"]) == ("/v1/chat/completions", "Bearer sk-very-secret")
    assert counts["model"] == "small"
    assert "Use uv here, not pip." in counts["messages"][1]["content"]

    assert str(consolidate(project, quiet).facts) == "facts: 0 in 0 loops, 0 dropped, 0 invalid answers"
    assert len(speaker.requests) == 2


def test_a_fact_without_events_of_ours_is_dropped_and_counted(project, speaker):
    feed(project, talk("s.a.1"))
    lies = {"facts": [{"fact": "The moon is cheese.", "events": [1]}, {"fact": "No source.", "events": []}]}
    speaker.answers = [saying(json.dumps(lies))]

    assert str(consolidate(project, quiet).facts) == "facts: 0 in 1 loops, 2 dropped, 0 invalid answers"
    assert not Insight.objects.filter(kind="fact").exists()


@pytest.mark.parametrize(
    "lie",
    [
        saying("I am a poet."),
        raw(b"not json"),
        raw(b'{"choices": []}'),
        raw(b'{"choices": [{"message": {"content": null}}]}'),
        raw(b"\xff\xfe"),
        raw(b"the context is too long", 400),
        flood,
    ],
    ids=["prose", "no json", "no choice", "no content", "no text", "refused", "flood"],
)
def test_an_answer_that_is_none_is_counted_and_in_the_end_left(project, speaker, lie):
    feed(project, talk("s.a.1"))
    speaker.answers = [lie]

    results = [str(consolidate(project, quiet).facts) for _ in range(INVALID_ANSWERS_MAX + 1)]

    assert results == ["facts: 0 in 0 loops, 0 dropped, 1 invalid answers"] * INVALID_ANSWERS_MAX + [
        "facts: 0 in 0 loops, 0 dropped, 0 invalid answers"
    ]
    assert ReadLoop.objects.get().facts == "failed"


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (hang, "it does not answer within 1 s"),
        (drip, "it does not answer within 1 s"),
        (hang_up, "it cannot be reached"),
        (raw(b"", 500), "it answers 500"),
        (raw(b"", 429), "it answers 429"),
        (raw(b"", 302, Location="http://127.0.0.1:1/steal"), "it answers 302"),
    ],
    ids=["slow", "dripping", "gone", "broken", "busy", "elsewhere"],
)
def test_a_model_that_is_unavailable_is_skipped_until_the_next_run(project, speaker, fault, why):
    feed(project, *(talk(f"s{n}.a.1") for n in range(TIMEOUTS_IN_ROW + 2)))
    speaker.answers = [fault]

    counts = consolidate(project, quiet).facts

    assert counts.unavailable.startswith(why)
    assert len(speaker.requests) == TIMEOUTS_IN_ROW
    speaker.answers = [saying(true)]
    assert consolidate(project, quiet).facts.facts == TIMEOUTS_IN_ROW + 2


def test_loops_that_keep_the_model_silent_do_not_keep_it_from_the_others(project, speaker):
    feed(
        project,
        *(
            talk(f"s{n}.a.1", "Slow." if n < TIMEOUTS_IN_ROW else "Quick.")
            for n in range(TIMEOUTS_IN_ROW + 1)
        ),
    )

    def send_frame(handler, counts):
        (saying(true) if "Quick." in str(counts) else hang_up)(handler, counts)

    speaker.answers = [send_frame]
    for _ in range(TIMEOUTS_MAX + 1):
        consolidate(project, quiet)

    assert Insight.objects.get(kind="fact").loops == 1
    assert list(ReadLoop.objects.order_by("loop").values_list("facts", flat=True)) == [
        *["failed"] * TIMEOUTS_IN_ROW,
        "done",
    ]


def test_nothing_but_facts_depends_on_the_model(project, speaker, settings):
    other = Project.objects.create(slug="other")
    for each in (project, other):
        feed(each, talk("s.a.1"), talk("t.a.1"))
    speaker.answers = [hang_up]
    consolidate(project, quiet)

    settings.LOOPSCOPE_FACTS_URL = ""
    consolidate(other, quiet)

    (found, read, marked), (found_without, read_without, marked_without) = learned(project), learned(other)
    assert (found, marked) == (found_without, marked_without)
    assert [loop for loop, _ in read] == [loop for loop, _ in read_without]
    assert {facts for _, facts in read} == {"wanted"}
    assert not JournalEvent.objects.filter(consolidated_at=None).exists()


def test_broken_off_between_two_loops_it_asks_only_about_the_rest(project, speaker):
    feed(project, talk("s.a.1"), talk("t.a.1"))
    speaker.answers = [saying(true), hang_up]
    consolidate(project, quiet)
    assert Insight.objects.get(kind="fact").times == 1

    speaker.answers = [saying(true)]
    consolidate(project, quiet)

    assert Insight.objects.get(kind="fact").times == 2


def test_what_a_hostile_model_says_is_text(project, speaker):
    feed(project, talk("s.a.1"))
    text = "<img src=x onerror=alert(1)>\u202e\x00" + "y" * 2000
    speaker.answers = [
        saying(lambda events: json.dumps({"facts": [{"fact": text, "events": [events[0]["id"]]}]}))
    ]

    consolidate(project, quiet)

    results = Insight.objects.get(kind="fact").statement
    assert len(results) <= 300
    assert results.startswith("<img src=x onerror=alert(1)>")
    assert "\x00" not in results


def test_neither_the_key_nor_a_message_is_logged(project, speaker, caplog):
    feed(project, talk("s.a.1", text="A private thing."))
    speaker.answers = [raw(b"A private thing.", 500)]

    done = consolidate(project, quiet)

    for text in (caplog.text, str(done)):
        assert "private" not in text
        assert "sk-very-secret" not in text

"""A session that is sent as spans and as a transcript is one session, whichever arrives first."""

import random

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from recorder.models import LoopRecord, Project, Session
from recorder.operations.integrity_check import findings
from recorder.projection.rebuild import rebuild
from tests.recorder.journal.spans import captures, pairs

pytestmark = pytest.mark.django_db(transaction=True)


def project(name="p"):
    return Project.objects.create(slug=name)


def reported(pair):
    """Return the costs that the log records of a run report."""
    of = project("reported")
    pairs.record_spans(of, pair)
    turns = [turn for session in Session.objects.filter(project=of) for turn in pairs.costs(session)]
    return sorted(nano for _, _, nano, source, _ in turns if source == "reported")


@pytest.mark.parametrize("pair", pairs.PAIRS)
def test_both_sources_give_what_the_transcript_gives_and_the_reported_costs(pair):
    alone, both = project("alone"), project("both")
    pairs.record_transcripts(alone, pair)
    pairs.record_spans(both, pair)
    pairs.record_transcripts(both, pair)

    found = pairs.shape(both)
    assert [*captures.differences(pairs.without_costs(found), pairs.without_costs(pairs.shape(alone)))] == []
    session = Session.objects.get(project=both)
    assert session.source == pair.partition("/")[0]
    if pair in (*pairs.CLAUDE_CODE, pairs.BOTH):
        costs = sorted(nano for _, _, nano, source, _ in pairs.costs(session) if source == "reported")
        assert costs == reported(pair) != []
        assert (session.cost_nano, session.cost_source) == (sum(costs), "reported")
    assert [each for each in findings() if not each.startswith("quarantine")] == []


@pytest.mark.parametrize("pair", pairs.PAIRS)
def test_the_transcript_may_come_first(pair):
    first, last = project("first"), project("last")
    pairs.record_transcripts(first, pair)
    pairs.record_spans(first, pair)
    pairs.record_spans(last, pair)
    pairs.record_transcripts(last, pair)

    assert [*captures.differences(pairs.shape(first), pairs.shape(last))] == []


def test_calls_with_equal_figures_are_matched_by_the_ids_of_their_requests():
    of = project()
    pairs.record_transcripts(of, pairs.BOTH)
    pairs.record_spans(of, pairs.BOTH)

    session = Session.objects.get()
    costs = [(ordinal, nano, source) for _, ordinal, nano, source, _ in pairs.costs(session)]
    assert sorted(costs) == [(0, 780_000, "reported"), (0, 796_000, "reported"), (1, 796_000, "reported")]
    assert session.cost_nano == 780_000 + 2 * 796_000


def test_spans_have_what_the_transcript_does_not_cover_yet():
    of = project()
    pairs.record_spans(of, pairs.BOTH)
    ((producer, lines),) = pairs.transcripts(pairs.BOTH).items()
    second = next(at for at, line in enumerate(lines) if b"And tomorrow?" in line)

    assert sources(of) == ["otlp", "otlp"]
    pairs.send(of, pairs.BOTH, producer, lines[:second])
    assert sources(of) == ["claude-code", "otlp"]
    session = Session.objects.get()
    assert (session.loops, session.turns, session.tool_calls) == (2, 3, 1)
    pairs.send(of, pairs.BOTH, producer, lines, flush=True)
    assert sources(of) == ["claude-code", "claude-code"]
    session = Session.objects.get()
    assert (session.loops, session.turns, session.tool_calls) == (2, 3, 1)


def sources(of):
    """Return the format of each loop's producer, in order of their start."""
    loops = LoopRecord.objects.filter(session__project=of).order_by("started_at")
    return list(loops.values_list("producer__format", flat=True))


def test_a_transcript_of_another_session_covers_nothing():
    of = project()
    pairs.record_spans(of, "claude-code/plain")
    wanted = pairs.shape(of)["shape"]

    pairs.record_transcripts(of, "claude-code/write")

    found = pairs.shape(of)["shape"]
    assert [each for each in found if each in wanted] == wanted
    assert len(found) == 2


def test_a_line_that_covers_no_further_loop_reads_no_unit():
    of = project()
    pairs.record_spans(of, pairs.BOTH)
    ((producer, lines),) = pairs.transcripts(pairs.BOTH).items()
    pairs.send(of, pairs.BOTH, producer, lines[:-2])
    with CaptureQueriesContext(connection) as queries:
        pairs.send(of, pairs.BOTH, producer, lines[-2:-1], len(lines) - 2)
    assert [query["sql"] for query in queries if "recorder_spanunit" in query["sql"]] == []


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("pair", pairs.PAIRS)
def test_any_interleaving_gives_the_same_records(pair, seed):
    wanted, of = project("wanted"), project()
    pairs.record_spans(wanted, pair)
    pairs.record_transcripts(wanted, pair)

    interleave(of, pair, random.Random(seed))

    assert [*captures.differences(pairs.shape(of), pairs.shape(wanted))] == []
    assert [each for each in findings() if not each.startswith("quarantine")] == []
    rebuild(of)
    assert [*captures.differences(pairs.shape(of), pairs.shape(wanted))] == []
    assert [each for each in findings() if not each.startswith("quarantine")] == []


def interleave(of, pair, rng):
    """Record both sources, cut into batches at random, doubled and interleaved; then end the streams."""
    lines = [line for batch in pairs.spans(pair) for line in batch]
    if rng.random() < 0.7:
        rng.shuffle(lines)
    doubled = lines + rng.sample(lines, len(lines) // 3)
    telemetry = [lambda batch=batch: captures.record(of, batch) for batch in cut(doubled, rng)]
    steps = [telemetry]
    for producer, all_lines in pairs.transcripts(pair).items():
        steps.append([*pushes(of, pair, producer, all_lines, rng)])
    while any(steps):
        rng.choice([each for each in steps if each]).pop(0)()
    for producer, all_lines in pairs.transcripts(pair).items():
        pairs.send(of, pair, producer, all_lines, flush=True)


def pushes(of, pair, producer, lines, rng):
    """Yield the batches of a transcript; some repeat lines of the batch before."""
    at = 0
    for batch in cut(lines, rng):
        back = rng.randint(0, at)
        first, sent = at - back, lines[at - back : at + len(batch)]
        yield lambda first=first, sent=sent: pairs.send(of, pair, producer, sent, first)
        at += len(batch)


def cut(lines, rng):
    at = 0
    while at < len(lines):
        size = rng.choice((1, 2, 5, 20))
        yield lines[at : at + size]
        at += size

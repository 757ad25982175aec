"""Evaluations in telemetry are scores, or notes if no definition takes them, on what they are about."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from recorder.core.sources import OTLP
from recorder.ingest.commit.pipeline import Batch, record
from recorder.ingest.commit.span_backlog import PRODUCER
from recorder.models import LoopRecord, Mention, Note, Project, ScoreDefinition, SearchDocument, Session
from recorder.notes import definitions, evaluations
from recorder.notes.definitions import Draft
from recorder.notes.write import delete_of_session
from recorder.projection.rebuild import rebuild
from tests.recorder.core.formats.otlp.spans.lines import START, pairs
from tests.recorder.journal.spans import captures

pytestmark = pytest.mark.django_db(transaction=True)
EVENT = "gen_ai.evaluation.result"
TRACE = "c" * 32
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9}
RELEVANCE = {
    "gen_ai.evaluation.name": "Relevance",
    "gen_ai.evaluation.score.value": 0.8,
    "gen_ai.evaluation.score.label": "pass",
    "gen_ai.evaluation.explanation": "It answers.",
}


@pytest.fixture
def project():
    return Project.objects.create(slug="p")


def span(number=1, attributes=CHAT, *, parent=0, at=1, to=2, evaluations=()):
    """Return the line of a span, with evaluations among its events."""
    body = {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "name": "span",
        "startTimeUnixNano": str(START + at * 10**9),
        "endTimeUnixNano": str(START + to * 10**9),
        "attributes": pairs(attributes),
        "events": [{"name": EVENT, "attributes": pairs(each)} for each in evaluations],
        **({"parentSpanId": f"{parent:016x}"} if parent else {}),
    }
    return line("resourceSpans", "scopeSpans", "spans", body)


def log(attributes, number=1):
    """Return the line of a log record about a span."""
    about = {"traceId": TRACE, "spanId": f"{number:016x}"} if number else {}
    about |= {"timeUnixNano": str(START + 9 * 10**9), "eventName": EVENT, "attributes": pairs(attributes)}
    return line("resourceLogs", "scopeLogs", "logRecords", about)


def line(outer, inner, name, body, service="evals"):
    resource = {"attributes": pairs({"service.name": service})}
    return json.dumps(
        {outer: [{"resource": resource, inner: [{"scope": {"name": "x"}, name: [body]}]}]}
    ).encode()


def agent(**attributes):
    about = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}
    return span(9, about | attributes, at=0, to=8)


def notes():
    rows = Note.objects.order_by("created_at", "name", "pk")
    return [(each.kind, each.target, each.turn, each.name, each.value, each.text) for each in rows]


SCORE = ("score", "turn", 0, "Relevance", 0.8, "pass\n\nIt answers.")
NOTE = ("note", "turn", 0, "", None, "Relevance: 0.8 (pass)\n\nIt answers.")
TONE = {"gen_ai.evaluation.name": "Tone"}


def test_an_evaluation_is_a_score_of_the_turn(project):
    for _ in range(2):
        captures.record(project, [span(), log(RELEVANCE)])

    found = Note.objects.get()
    assert notes() == [SCORE]
    assert (found.source, found.author, found.number) == ("code", "evals", 0.8)


def test_a_definition_says_what_it_takes_in_its_project(project):
    definitions.define(project, Draft("Relevance", "number", least=1, most=5), "admin")
    for each in (project, Project.objects.create(slug="other")):
        captures.record(each, [span(), log(RELEVANCE)])

    assert sorted(notes()) == [NOTE, SCORE]
    assert Note.objects.get(project=project).kind == "note"


@pytest.mark.parametrize(("about", "kind"), [
    ({"gen_ai.evaluation.score.value": 4, "gen_ai.evaluation.score.label": "warm"}, "number"),
    ({"gen_ai.evaluation.score.label": "Pass"}, "boolean"),
    ({"gen_ai.evaluation.score.label": "warm"}, None),
    ({"gen_ai.evaluation.name": "1st", "gen_ai.evaluation.score.value": 4}, None),
])  # fmt: skip
def test_the_first_evaluation_of_a_name_defines_it_by_what_it_has(project, about, kind):
    captures.record(project, [span(evaluations=[TONE | about])])

    made = ScoreDefinition.objects.filter(name="Tone", created_by="OpenTelemetry").first()
    assert (made and made.kind) == kind
    assert Note.objects.get().kind == ("note" if kind is None else "score")


def test_of_very_many_names_further_ones_are_notes(project, monkeypatch):
    monkeypatch.setattr(evaluations, "DEFINED_MAX", 2)
    sent = [TONE | {"gen_ai.evaluation.name": f"n{n}", "gen_ai.evaluation.score.value": n} for n in range(4)]
    captures.record(project, [span(evaluations=sent)])

    assert sorted(note.kind for note in Note.objects.all()) == ["note", "note", "score", "score"]


@pytest.mark.parametrize("lines", [
    [span(evaluations=[RELEVANCE])],
    [log(RELEVANCE), span()],
    [span(2, at=3, to=4), log(RELEVANCE), span()],
], ids=["event", "log first", "other spans first"])  # fmt: skip
def test_an_evaluation_is_found_in_any_order_and_once(project, lines):
    for each in [*lines, *lines]:
        captures.record(project, [each])

    assert notes() == [SCORE]
    rebuild(project)
    assert notes() == [SCORE]
    note = Note.objects.get()
    assert (note.loop, note.session_id) == (LoopRecord.objects.get().pk, Session.objects.get().session_id)


def test_an_evaluation_moves_with_its_span_to_another_session_and_turn(project):
    captures.record(project, [span(1, at=3, to=4, parent=9), log(RELEVANCE)])
    assert Note.objects.get().session_id == TRACE
    captures.record(project, [span(2, parent=9), agent(**{"session.id": "s"})])

    note = Note.objects.get()
    assert (note.session_id, note.target, note.turn, note.loop) == (
        "s",
        "turn",
        1,
        LoopRecord.objects.get().pk,
    )


def test_an_evaluation_is_searched_for_where_it_is(project):
    captures.record(project, [span(1, parent=9), log(RELEVANCE)])
    captures.record(project, [span(2, parent=9), agent(**{"session.id": "s"})])

    document = SearchDocument.objects.get(kind=SearchDocument.NOTE, is_gone=False)
    note = Note.objects.get()
    assert (document.key, document.session, document.loop) == (
        str(note.pk),
        Session.objects.get().pk,
        note.loop,
    )
    assert document.turn is not None


@pytest.mark.parametrize("about", [RELEVANCE, TONE, TONE | {"gen_ai.evaluation.score.label": "warm"}])
def test_twice_the_evaluations_take_hardly_more_queries(project, about):
    def queries(number):
        lines = [log(about | {"number": f"{number} {n}"}) for n in range(number)]
        with CaptureQueriesContext(connection) as captured:
            captures.record(project, lines)
        return len(captured)

    captures.record(project, [span()])
    queries(1)
    assert queries(80) - queries(40) < 10
    assert Note.objects.count() == 121


def test_an_evaluation_that_moves_within_one_transaction_is_written(project):
    bodies = [[span(parent=9), log(RELEVANCE)], [agent(**{"session.id": "s"})]]
    record([Batch(project.pk, PRODUCER, None, body, OTLP) for body in bodies])

    assert [note.session_id for note in Note.objects.all()] == ["s"]


def test_evaluations_of_an_agent_and_of_a_trace_are_of_their_loop_and_session(project):
    captures.record(project, [agent(**{"session.id": "s"}), span(parent=9)])
    captures.record(project, [log(RELEVANCE, 9), log(RELEVANCE, 77), log(RELEVANCE | {"session.id": "s"}, 0)])

    assert sorted(target for _, target, *_ in notes()) == ["loop", "session", "session"]
    assert set(Note.objects.values_list("session_id", flat=True)) == {"s"}


@pytest.mark.parametrize(("kind", "about", "value"), [
    ("boolean", {"gen_ai.evaluation.score.label": "Fail"}, False),
    ("boolean", {"gen_ai.evaluation.score.value": 1}, True),
    ("boolean", {"gen_ai.evaluation.score.value": 0.5}, None),
    ("category", {"gen_ai.evaluation.score.label": "good"}, "good"),
    ("category", {"gen_ai.evaluation.score.label": "odd"}, None),
    ("number", {"gen_ai.evaluation.score.value": 4.0}, 4),
    ("number", {"gen_ai.evaluation.score.value": "0.5"}, 0.5),
    ("number", {"gen_ai.evaluation.score.value": "NaN"}, None),
    ("number", {"gen_ai.evaluation.score.value": True}, None),
    ("number", {"error.type": "timeout"}, None),
])  # fmt: skip
def test_a_value_that_the_definition_does_not_take_is_a_note(project, kind, about, value):
    categories = ("good", "bad") if kind == "category" else ()
    definitions.define(project, Draft("Is_it_good_", kind, categories=categories), "admin")
    captures.record(project, [span(evaluations=[{"gen_ai.evaluation.name": "Is it good?"} | about])])

    [(found, *_, name, given, text)] = notes()
    assert (found, name, given) == (("note", "", None) if value is None else ("score", "Is_it_good_", value))
    assert value is not None or text.startswith("Is it good?: ")


def test_a_hostile_evaluation_is_a_text_and_mentions_nobody(project, django_user_model):
    django_user_model.objects.create_superuser("mira")
    text = "\x00<script>@mira\ud800"
    about = {"gen_ai.evaluation.name": text, "gen_ai.evaluation.explanation": text * 1_500}
    captures.record(project, [span(evaluations=[about, {}] * 40)])

    assert Note.objects.count() == 50
    assert all("\x00" not in note.text and len(note.text) <= 20_000 for note in Note.objects.all())
    assert not Mention.objects.exists()


def test_an_evaluation_that_was_deleted_is_not_written_again(project):
    captures.record(project, [span(1, parent=9), log(RELEVANCE)])
    delete_of_session(project.pk, TRACE)
    captures.record(project, [agent(**{"session.id": "s"})])

    assert notes() == []


def test_a_later_state_of_a_span_adds_evaluations_and_none_that_was_deleted(project):
    captures.record(project, [span(evaluations=[RELEVANCE])])
    delete_of_session(project.pk, TRACE)
    captures.record(project, [span(evaluations=[RELEVANCE, TONE])])

    assert [note[-1] for note in notes()] == ["Tone: no result"]

"""The index follows from the journal, whatever happened in between."""

import pytest
from django.db import connection, transaction
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.core.search.tokens import query_tokens
from recorder.database import sql
from recorder.demo.remove import forget_demo
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import JournalEvent, Project, SearchDocument, SearchState, Session
from recorder.projection.rebuild import rebuild
from recorder.search import documents, indexer, notes, queries, state, tables
from recorder.search.match import Match
from tests.recorder.journal.spans import captures
from tests.recorder.old_bodies import consolidate, play, prune
from tests.support import build, foreign_tapes

pytestmark = pytest.mark.django_db(transaction=True)

WORDS = ("alpha", "beta", "gamma", "服务端", "delta", "ok", "bash", "careful")


def answer(loop, text):
    return {"type": "MessageEnd", "loop_id": loop, "message": build.assistant(text)}


def send(project, *events, **fields):
    ingest(
        Batch(
            project.pk, fields.pop("producer", "p"), None, [build.line(e) for e in events], "native", **fields
        )
    )


def session(project, name, text, **fields):
    loop = f"{name}.a.1"
    send(project, build.agent_start(loop), build.turn_start(loop), answer(loop, text), **fields)


def content(project):
    """Return what the index of a project finds: kind, session and event of each word."""
    found = set()
    for word in WORDS:
        batch = queries.newest(project.pk, Match((query_tokens(word),)), queries.TOP, 10_000)
        found |= {(word, hit.kind, hit.session, hit.event, hit.text) for hit in batch.found}
    return found


def terms(project):
    """Return the words that are left in the index table, with the number of documents."""
    name = tables.table(project.pk)
    if connection.vendor == "postgresql":
        return dict(sql.read(f"SELECT word, ndoc FROM ts_stat('SELECT words FROM {name}')"))
    with connection.cursor() as cursor:
        cursor.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.v_{name} USING fts5vocab('main', '{name}', 'row')"
        )
        cursor.execute(f"SELECT term, doc FROM temp.v_{name}")
        found = dict(cursor.fetchall())
        cursor.execute(f"DROP TABLE temp.v_{name}")
    return found


def words_of_texts(project):
    """Return the words that are left but those that say in which block of ids a document is."""
    return {word: number for word, number in terms(project).items() if not word.startswith(".b")}


def check(project):
    """Compare the index with one that is made anew, and its words with its documents."""
    indexer.run_all()
    before = content(project)
    documents_before = SearchDocument.objects.filter(project=project).count()
    assert sum(n for word, n in terms(project).items() if word.startswith(".k")) == documents_before
    indexer.rebuild(project.pk)
    indexer.run_all()
    assert content(project) == before
    assert SearchDocument.objects.filter(project=project).count() == documents_before


def test_a_repeated_text_is_indexed_once(project):
    loop = "s.a.1"
    request = {**build.turn_start(loop), "type": "TurnRequest", "payload": {"system_prompt": "Be careful"}}
    send(
        project,
        build.agent_start(loop),
        build.turn_start(loop),
        request,
        answer(loop, "alpha"),
        build.turn_end(loop, message=build.assistant("alpha")),
        request,
        build.agent_end(loop, messages=[build.assistant("alpha")]),
    )
    indexer.run_all()
    kinds = SearchDocument.objects.exclude(kind=SearchDocument.TITLE).values_list("kind", flat=True)
    assert sorted(kinds) == [SearchDocument.ANSWER, SearchDocument.SYSTEM]


def test_the_step_of_a_turns_end_knows_the_answer_of_an_earlier_step(project):
    loop = "s.a.1"
    send(project, build.agent_start(loop), build.turn_start(loop), answer(loop, "alpha"))
    indexer.run_all()
    send(project, build.turn_end(loop, message=build.assistant("alpha")))
    check(project)
    assert SearchDocument.objects.filter(kind=SearchDocument.ANSWER).count() == 1


def test_a_line_that_waited_for_its_loop_is_indexed_when_the_loop_starts(project):
    send(project, answer("s.a.1", "alpha"))
    indexer.run_all()
    assert content(project) == set()
    send(project, build.agent_start("s.a.1"))
    indexer.run_all()
    assert {hit[0] for hit in content(project)} == {"alpha"}
    check(project)


def test_a_long_text_is_found_to_its_end_and_its_parts_are_deleted(project):
    session(project, "s", "x1 " * 9_000 + "y " * 600 + "omega 服务端")
    indexer.run_all()
    assert SearchDocument.objects.filter(kind=SearchDocument.ANSWER).count() > 2
    assert queries.count(project.pk, Match((query_tokens("omega 服务端"),)), 10) == 1
    with transaction.atomic():
        documents.remove(project.pk, [Session.objects.get().pk])
    assert terms(project) == {}


def test_a_deleted_session_leaves_no_word(project):
    session(project, "s", "alpha")
    session(project, "t", "beta")
    indexer.run_all()
    with transaction.atomic():
        documents.remove(project.pk, [Session.objects.get(session_id="s").pk])
    assert "alpha" not in terms(project)
    assert "beta" in terms(project)


def test_the_demo_leaves_no_word(project):
    session(project, "demo", "alpha", producer="d", is_demo=True)
    session(project, "real", "beta")
    indexer.run_all()
    forget_demo(project)
    assert {hit[0] for hit in content(project)} == {"beta"}
    assert "alpha" not in terms(project)
    check(project)


def test_an_index_of_another_tokeniser_is_made_anew(project):
    session(project, "s", "alpha")
    indexer.run_all()
    SearchState.objects.update(version="0")
    before = content(project)
    indexer.run_all()
    assert SearchState.objects.get().version == state.VERSION
    assert content(project) == before
    check(project)


@pytest.mark.parametrize("how", [lambda project: indexer.rebuild(project.pk), rebuild], ids=["index", "all"])
def test_notes_stay_the_newest_hits_when_the_index_is_made_anew(project, how):
    session(project, "s", "alpha beta")
    indexer.run_all()
    found = Session.objects.get()
    for note in range(3):
        place = documents.Place(found.pk)
        with transaction.atomic():
            notes.put_note(project.pk, note, place, f"alpha {note}", found.last_event_at)
    how(project)
    indexer.run_all()
    batch = queries.newest(project.pk, Match((query_tokens("alpha"),)), queries.TOP, 10)
    assert [hit.text for hit in batch.found] == ["alpha 2", "alpha 1", "alpha 0", ""]
    assert SearchState.objects.get().version == state.VERSION
    session(project, "t", "alpha")
    check(project)
    with transaction.atomic():
        documents.remove(project.pk, Session.objects.values_list("pk", flat=True))
    assert terms(project) == {}


def test_pruned_lines_leave_no_word(project):
    play(project, "01-tools-two-prompts", 40)
    play(project, "05-sub-agents", 29)
    indexer.run_all()
    had = terms(project)
    consolidate()
    prune(project)
    assert len(terms(project)) < len(had)
    gone = JournalEvent.objects.exclude(pruned_on=None).values_list("pk", flat=True)
    assert not SearchDocument.objects.filter(event__in=list(gone)).exists()
    check(project)


@pytest.mark.parametrize(
    "capture",
    ["frameworks/pydantic-ai/06-sub-agent", "frameworks/openai-agents-openinference/06-handoff",
     "coding_agents/claude-code-otlp/task", "frameworks/langgraph-openinference/10-cache"],
)  # fmt: skip
def test_a_withdrawn_loop_leaves_no_word(project, capture):
    for batch in captures.lines(capture):
        captures.record(project, batch)
        indexer.run_all()
    words = words_of_texts(project)
    check(project)
    assert sorted(words_of_texts(project).items() ^ words.items()) == []
    assert len(words) > 20


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("cagent/all-event-types.hand-made.events.jsonl", "cagent"),
        ("cagent/transfer-task.reconstructed.events.jsonl", "cagent"),
    ],
)
def test_sessions_of_other_runtimes_are_indexed_in_any_batching(project, path, form):
    lines = foreign_tapes.tape(path)
    foreign_tapes.send(project, lines, form, cuts=range(5, len(lines), 5))
    check(project)
    kinds = set(SearchDocument.objects.values_list("kind", flat=True))
    assert {SearchDocument.PROMPT, SearchDocument.ANSWER, SearchDocument.TITLE} <= kinds


def test_pages_learn_how_far_the_index_is_behind(project):
    session(project, "s", "alpha")
    behind = state.lag(project.pk, timezone.now())
    assert behind.events == 3
    assert behind.seconds > 0
    indexer.run_all()
    assert state.lag(project.pk, timezone.now()) == state.Lag(0.0, 0)


@settings(max_examples=15)
@given(
    st.lists(
        st.tuples(st.sampled_from(("ingest", "step", "rebuild", "flush")), st.integers(0, 3)), max_size=14
    )
)
def test_the_index_follows_from_the_journal(project, steps):
    unique = Project.objects.create(slug=f"p{Project.objects.count()}-{len(steps)}")
    for place, (what, number) in enumerate(steps):
        match what:
            case "ingest":
                session(unique, f"s{number}-{place}", " ".join(WORDS[: number + 1]), producer=f"p{place}")
            case "step":
                indexer.Indexer().step()
            case "rebuild":
                rebuild(unique)
            case "flush":
                send(unique, producer=f"p{place}", flush=True)
    check(unique)


@pytest.mark.django_db(transaction=False)
def test_what_the_own_transaction_recorded_is_indexed_in_it(project):
    session(project, "s", "alpha")
    indexer.run_all()
    assert {(word, kind) for word, kind, *_ in content(project)} == {("alpha", documents.NUMBERS["answer"])}

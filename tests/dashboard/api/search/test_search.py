"""`GET /api/v1/search`: what is found, in which order, and that it stays in its project."""

import pytest

from dashboard.shared.search.queries import find
from recorder.models import EventRecord, Project, Session
from recorder.search import documents, notes, queries
from tests.support import build

# PostgreSQL: the indexer waits for open transactions, also for one around a test.
pytestmark = pytest.mark.django_db(transaction=True)


def test_a_word_is_found_with_its_place(get, record):
    record("s", build.user("Please fix the Lexer"), build.assistant("The lexer is fixed."))
    found = get("search", q="lexer")
    (item,) = found["items"]
    assert item["session_id"] == "s"
    assert item["url"].endswith(str(Session.objects.get().pk))
    answer, prompt = [hit for hit in item["hits"] if hit["kind"] != "title"]
    assert (answer["kind"], prompt["kind"]) == ("answer", "prompt")
    assert prompt["event"] == EventRecord.objects.filter(type="MessageEnd").earliest("pk").pk
    assert [prompt["snippet"][a:b] for a, b in prompt["ranges"]] == ["Lexer"]
    assert found["total"] == 1
    assert found["index"] == {"lag_s": 0.0, "events": 0}


def test_all_words_are_in_the_session_and_a_phrase_in_one_text(sessions, record):
    record("one", build.user("alpha beta"))
    record("two", build.user("alpha"), build.assistant("beta"))
    record("three", build.user("alpha"))
    assert sorted(sessions("alpha beta")) == ["one", "two"]
    assert sessions('"alpha beta"') == ["one"]
    assert sessions("alpha -beta") == ["three"]
    assert sessions("alp*") == ["three", "two", "one"]
    assert sessions("alp") == []
    assert sessions("?") == []


def test_words_of_punctuation_are_skipped_beside_others(get, sessions, record):
    record("one", build.user("deploy 🎉 done"))
    record("two", build.user("deploy"))
    for q, expected in {
        "🎉": ["one"],
        "-🎉": ["two"],
        "deploy - done": ["one"],
        "deploy -> ? done": ["one"],
        "deploy OR ->": ["two", "one"],
        '(-> OR "--") deploy': ["two", "one"],
        'deploy -"->"': ["two", "one"],
        '"->" agent:agent-a': ["two", "one"],
        "->": [],
        '-> "--" OR ?': [],
    }.items():
        assert sessions(q) == expected, q
        assert [item["session_id"] for item in get("sessions", q=q)["items"]] == expected, q


def test_without_words_all_sessions_come_without_hits(get, sessions, record):
    record("one", build.user("alpha"))
    record("two", build.user("beta"))
    assert sessions("", limit=1) == ["two", "one"]
    assert [item["hits"] for item in get("search")["items"]] == [[], []]


def test_conditions_alone_list_the_sessions_by_their_last_activity(get, sessions, record):
    for n, at in enumerate((3, 5, 1, 5, 4, 5)):
        record(f"s{n}", build.user("alpha"), agent_id="tester", at=at)
    expected = ["s5", "s3", "s1", "s4", "s0", "s2"]
    assert sessions("agent:tester") == sessions("agent:tester", limit=1) == expected
    assert sessions("agent:tester", limit=2) == sessions("", limit=4) == expected
    found = get("search", q="agent:tester", limit=4)
    assert found["total"] == 6
    ats = [item["at"] for item in found["items"]]
    assert ats == sorted(ats, reverse=True)


def test_a_session_that_becomes_active_while_pages_are_read_does_not_come_again(get, record):
    for n in range(4):
        record(f"s{n}", build.user("alpha"), at=n)
    first = get("search", q="agent:agent-a", limit=2)
    record("s2", build.user("more"), at=9)
    rest = get("search", q="agent:agent-a", limit=2, cursor=first["next"])
    assert [item["session_id"] for item in (*first["items"], *rest["items"])] == ["s3", "s2", "s1", "s0"]


@pytest.mark.parametrize("year", ["0001", "1969", "2513", "2600", "9998"])
def test_sessions_of_any_year_are_on_one_page(sessions, record, year):
    for n in range(3):
        record(f"s{n}", build.user("alpha"), timestamp=f"{year}-01-01T00:00:0{n}Z")
    record("s3", build.user("alpha"))
    assert sorted(sessions("agent:agent-a", limit=1)) == ["s0", "s1", "s2", "s3"]


def test_kinds_limit_the_hits(get, record):
    record("s", build.user("Find the needle"), build.assistant("No needle here."))
    for kind in ("prompt", "answer", "title"):
        (item,) = get("search", q="needle", kind=kind)["items"]
        assert [hit["kind"] for hit in item["hits"]] == [kind]
    assert get("search", q="needle", kind="note")["items"] == []


def test_tool_calls_thinking_requests_and_notes_are_searched(get, project, record):
    loop = "s.a.1"
    thought = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hidden plan"}]}
    request = {
        **build.turn_start(loop),
        "type": "TurnRequest",
        "payload": {"system_prompt": "You are careful", "messages": []},
    }
    start = build.tool_start(loop) | {"args": {"command": "grep -r foo_bar /usr/lib"}}
    record("s", build.user("go"), thought, more=[request, start, build.tool_end(loop), request])
    session = Session.objects.get()
    at = session.last_event_at
    notes.put_note(project.pk, 7, documents.Place(session.pk), "Worth a look", at)
    kinds = {
        q: [hit["kind"] for item in get("search", q=q)["items"] for hit in item["hits"]]
        for q in ("hidden", "careful", "bar", "ok", "worth")
    }
    assert kinds == {
        "hidden": ["thinking"],
        "careful": ["system"],
        "bar": ["tool_call"],
        "ok": ["tool_result"],
        "worth": ["note"],
    }
    notes.put_note(project.pk, 7, documents.Place(session.pk), "Changed", at)
    assert get("search", q="worth")["items"] == []
    notes.remove_note(project.pk, 7, session.pk)
    assert get("search", q="changed")["items"] == []


def test_a_session_shows_three_hits_and_counts_the_rest(get, record):
    record("s", *(build.assistant(f"needle {n}") for n in range(9)))
    (item,) = get("search", q="needle")["items"]
    assert [hit["snippet"] for hit in item["hits"]] == ["needle 8", "needle 7", "needle 6"]
    assert item["more"] == 6


@pytest.mark.parametrize("sort", ["newest", "best"])
def test_pages_hold_each_session_once(sessions, record, sort):
    for n in range(7):
        record(f"s{n}", *(build.assistant(f"needle {part}") for part in range(3)))
    found = sessions("needle", sort=sort, limit=2)
    assert sorted(found) == [f"s{n}" for n in range(7)]
    if sort == "newest":
        assert found == sorted(found, reverse=True)


def test_a_session_that_is_found_anew_while_pages_are_read_comes_once(get, record):
    for n in range(4):
        record(f"s{n}", build.user("needle"))
    first = get("search", q="needle", limit=2)
    record("s0", build.user("another needle"))
    rest = get("search", q="needle", limit=2, cursor=first["next"])
    assert [item["session_id"] for item in (*first["items"], *rest["items"])] == ["s3", "s2", "s1"]


def test_one_session_with_many_hits_does_not_hide_the_others(sessions, record):
    record("quiet", build.user("needle"))
    record("loud", *(build.assistant(f"needle {n}") for n in range(300)))
    assert sessions("needle") == ["loud", "quiet"]


def test_common_words_are_found_session_by_session(sessions, record, monkeypatch):
    for n in range(5):
        record(f"s{n}", build.user("common" if n % 2 else "common rare"))
    expected = sessions("common rare"), sessions("common -rare")
    monkeypatch.setattr(queries, "RARE", 0)
    monkeypatch.setattr(queries, "COMMON", 0)
    assert (
        (sessions("common rare"), sessions("common -rare")) == expected == (["s4", "s2", "s0"], ["s3", "s1"])
    )
    assert sorted(sessions("common", sort="best")) == [f"s{n}" for n in range(5)]


def test_a_rare_word_is_searched_before_common_ones(get, record, monkeypatch):
    record("old", build.user("needle"), build.assistant("common"))
    for n in range(20):
        record(f"s{n}", build.user("common"), build.assistant("usual"))
    monkeypatch.setattr(find, "_BATCHES", (5,))  # what a page may read
    for q in ("common needle", "needle common", "common (needle OR needles) usual OR needle"):
        found = get("search", q=q)
        assert [item["session_id"] for item in found["items"]] == ["old"], q
        assert {"needle", "common"} <= {hit["snippet"] for hit in found["items"][0]["hits"]}
        assert (found["next"], found["total"]) == (None, 1)
    assert [item["session_id"] for item in get("search", q="common needle", kind="answer")["items"]] == [
        "old"
    ]
    assert get("search", q="usual needle", kind="tool_call")["items"] == []


def test_conditions_beside_words_are_evaluated_first(sessions, record, monkeypatch):
    for n in range(20):
        record(f"s{n}", build.user("common"))
    monkeypatch.setattr(find, "_BATCHES", (2,))
    assert sessions("common session:s3") == ["s3"]
    assert sessions("common (session:s3 OR session:s5) -session:s5") == ["s3"]


def test_a_session_with_very_many_hits_is_counted_by_itself(get, record, monkeypatch):
    record("quiet", build.user("needle"))
    record("loud", *(build.assistant(f"needle {n}") for n in range(30)))
    expected = get("search", q="needle")["items"]
    monkeypatch.setattr(queries, "TOGETHER_DOCUMENTS", 5)
    assert get("search", q="needle")["items"] == expected
    assert [item["more"] for item in expected] == [27, 0]


def test_nothing_of_another_project_is_found(get, record):
    other = Project.objects.create(slug="other")
    record("theirs", build.user("secret plan"), into=other)
    record("ours", build.user("open plan"))
    found = get("search", q="plan")
    assert [item["session_id"] for item in found["items"]] == ["ours"]
    assert found["total"] == 1
    assert get("search", q="secret")["items"] == []
    assert get("search", q="plan -open")["items"] == []


@pytest.mark.parametrize(
    "q",
    ["'", "*", "a*b", "\\", "-", "NEAR(a b)", ".k1", "x' OR 1", "\u0bbe", "a" * 500],
)
def test_no_text_of_a_query_breaks_the_search(get, record, q):
    record("s", build.user("x"))
    for sort in ("newest", "best"):
        assert "items" in get("search", q=q, sort=sort)


@pytest.mark.parametrize(("q", "at"), [('"', 0), ("x words:x", 2), ('x "-', 2)])
def test_a_bad_query_has_its_position(get, record, q, at):
    record("s", build.user("x"))
    error = get("search", expect=400, q=q)
    assert (error["code"], error["at"]) == ("bad_query", at)


def test_a_condition_of_the_reader_is_theirs(get, record):
    record("s", build.user("x"))
    assert get("search", q="x is:bookmarked")["items"] == []
    assert len(get("search", q="x -is:bookmarked")["items"]) == 1


def test_a_bad_parameter_is_named(get):
    for params in ({"kind": "words"}, {"sort": "oldest"}, {"limit": 0}, {"cursor": "x"}):
        assert get("search", expect=400, q="x", **params)["code"] == "bad_query"


def test_hostile_texts_are_answered_as_text(get, record):
    text = "<script>alert(1)</script> needle \ud800 \x00 \u202e end"
    record("s", build.user(text))
    hits = [hit for item in get("search", q="needle")["items"] for hit in item["hits"]]
    assert any(hit["snippet"].startswith("<script>") for hit in hits)


def test_the_number_of_queries_does_not_grow_with_the_lines(record, get, django_assert_max_num_queries):
    for n in range(50):
        record(f"s{n}", *(build.assistant(f"needle and thread {part}") for part in range(4)))
    # PostgreSQL reads the index in windows: up to three where one bucket of documents ends.
    with django_assert_max_num_queries(30):
        assert len(get("search", q="needle")["items"]) == 50
    with django_assert_max_num_queries(40):
        assert len(get("search", q="needle thread")["items"]) == 50

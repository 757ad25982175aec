"""Notes, scores and bookmarks through the API: rules, roles, projects, as of an event."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from recorder.access import tokens
from recorder.models import EventRecord, Mention, Note, Project, ScoreDefinition
from recorder.notes.definitions import Draft, define
from recorder.projection.rebuild import rebuild
from tests.support import build

LOOP = "s.a.1"
QUALITY = Draft("quality", "number", 1, 5, meaning="How good it is")
SOLVED = Draft("solved", "category", categories=("yes", "partly", "no"), targets=("session",))
CORRECT = Draft("correct", "boolean", sources=("judge", "code"))


@pytest.fixture
def session(project, feed):
    feed(
        build.agent_start(LOOP),
        build.turn_start(LOOP),
        build.turn_end(LOOP, message=build.assistant()),
        build.turn_start(LOOP, index=1, at=3),
        build.turn_end(LOOP, index=1, at=4, message=build.assistant()),
        build.agent_end(LOOP),
    )
    for draft in (QUALITY, SOLVED, CORRECT):
        define(project, draft, "mira")
    return "s"


class Caller:
    """One who calls the API: a program with a token, or a signed-in user."""

    def __init__(self, client, token=""):
        self._client, self._headers = client, {"Authorization": f"Bearer {token}"} if token else {}

    def __call__(self, method, path, status=None, **body):
        response = getattr(self._client, method)(
            f"/api/v1/{path}",
            *([json.dumps(body)] if method in ("post", "patch") else []),
            content_type="application/json",
            headers=self._headers,
        )
        if status is not None:
            assert response.status_code == status, response.content
        return response.json() if response.content else None


@pytest.fixture
def program(client, project):
    return Caller(client, tokens.issue(project, "ci", ["ingest", "read"]))


@pytest.fixture
def person(project, django_user_model):
    def person(name, role="member", *, checks_csrf=False):
        user = django_user_model.objects.create_user(name)
        project.memberships.create(user=user, role=role)
        client = Client(enforce_csrf_checks=checks_csrf)
        client.force_login(user)
        return Caller(client)

    return person


def on(session, **more):
    return {"session_id": session, **more}


def test_a_score_of_code_is_written_once_and_changes_when_it_is_sent_again(program, session):
    target = on(session, loop=LOOP, turn=1)
    first = program("post", "notes", 201, target=target, name="quality", value=4, text="fast")
    again = program("post", "notes", 200, target=target, name="quality", value=2)

    assert first["id"] == again["id"]
    assert (first["kind"], first["source"], first["author"], first["value"]) == ("score", "code", "ci", 4)
    assert again["value"] == 2
    assert again["edited_at"]
    assert first["target"]["type"] == "turn"
    assert (first["target"]["loop_id"], first["target"]["turn"]) == (LOOP, 1)
    found = program("get", f"notes?session_id={session}")
    assert (found["total"], found["items"][0]["value"]) == (1, 2)


def test_an_id_of_the_sender_distinguishes_scores_of_one_name(program, session):
    for given in ("check-1", "check-2", "check-1"):
        program("post", "notes", target=on(session), name="quality", value=3, id=given)
    assert program("get", "notes")["total"] == 2


def test_sending_the_same_score_again_changes_nothing(program, session):
    first = program("post", "notes", target=on(session), name="quality", value=3)
    assert program("post", "notes", target=on(session), name="quality", value=3) == first


@pytest.mark.parametrize("value", [0, 6, "4", True, None, 1e400, [4]])
def test_a_number_out_of_its_range_or_of_another_type_is_refused(program, session, value):
    answer = program("post", "notes", 400, target=on(session), name="quality", value=value)
    assert answer["code"] in ("bad_note", "bad_body")
    assert not Note.objects.exists()


def test_the_error_of_a_value_lists_what_the_score_accepts(program, session):
    answer = program("post", "notes", 400, target=on(session), name="solved", value="maybe")
    assert answer == {"code": "bad_note", "message": "The score solved takes one of yes, partly, no."}


def test_an_undefined_score_is_refused_naming_those_that_exist_and_defines_nothing(program, session):
    answer = program("post", "notes", 400, target=on(session), name="qualty", value=4)
    assert answer["code"] == "unknown_score"
    assert answer["message"].endswith("Defined are: correct, quality, solved.")
    assert not ScoreDefinition.objects.filter(name="qualty").exists()


def test_a_score_is_accepted_on_its_targets_and_by_its_sources_only(program, person, session):
    program("post", "notes", 400, target=on(session, loop=LOOP), name="solved", value="yes")
    person("mira")("post", "notes", 400, target=on(session), name="correct", value=True)
    program("post", "notes", 201, target=on(session), name="correct", value=True, source="judge", author="j")
    assert Note.objects.get().source == "judge"


def test_judges_of_one_token_are_distinguished_by_their_names(program, session):
    for judge in ("sonnet", "opus", "sonnet"):
        program("post", "notes", target=on(session), name="quality", value=3, source="judge", author=judge)
    assert sorted(Note.objects.values_list("author", flat=True)) == ["opus", "sonnet"]


@pytest.mark.parametrize(
    "target",
    [
        on("unknown"),
        on("s", loop="unknown"),
        on("s", loop=999_999),
        on("s", loop=LOOP, turn=7),
        on("s", loop=LOOP, run=2),
        on("s", turn=0),
        on("s", event=999_999),
        on("s", evaluation=1),
    ],
)
def test_a_target_that_does_not_exist_is_not_found(program, session, target):
    assert program("post", "notes", 404, target=target, text="x")["code"] == "not_found"


def test_the_anchor_is_the_newest_event_of_the_target_or_the_event_itself(program, session):
    events = dict(EventRecord.objects.order_by("pk").values_list("pk", "type"))
    turns = [pk for pk, type_ in events.items() if type_ == "TurnEnd"]

    def anchor(**target):
        return program("post", "notes", 201, target=on(session, **target), text="x")["target"]["event"]

    assert anchor(loop=LOOP, turn=0) == turns[0]
    assert anchor(loop=LOOP, turn=1) == turns[1]
    assert anchor(loop=LOOP) == max(events)
    assert anchor() == max(events)
    assert anchor(event=turns[0]) == turns[0]


def test_as_of_an_event_only_what_is_anchored_by_then_is_shown(program, session):
    end = EventRecord.objects.filter(type="TurnEnd").earliest("pk").pk
    program("post", "notes", 201, target=on(session, loop=LOOP, turn=0), text="first")
    program("post", "notes", 201, target=on(session, loop=LOOP, turn=1), text="second")

    assert program("get", f"notes?session_id=s&at={end - 1}")["total"] == 0
    assert [note["text"] for note in program("get", f"notes?session_id=s&at={end}")["items"]] == ["first"]


def test_a_rebuild_leaves_notes_and_their_targets(program, session, project):
    before = program("post", "notes", 201, target=on(session, loop=LOOP, turn=1), text="stays")
    rebuild(project)
    assert program("get", "notes")["items"] == [before]


def test_a_read_token_reads_and_an_ingest_token_writes(client, project, session):
    reads = Caller(client, tokens.issue(project, "r", ["read"]))
    writes = Caller(client, tokens.issue(project, "w", ["ingest"]))
    assert reads("post", "notes", 403, target=on(session), text="x")["code"] == "forbidden"
    mine = writes("post", "notes", 201, target=on(session), text="x")
    assert writes("get", "notes", 403)["code"] == "forbidden"
    assert reads("get", "notes", 200)["items"] == [mine]
    Caller(client, "lsk_a_b")("post", "notes", 401, target=on(session), text="x")
    Caller(client)("post", "notes", 401, target=on(session), text="x")


def test_notes_of_another_project_are_not_found(client, session):
    other = Project.objects.create(slug="other")
    note = Note.objects.get(
        pk=Caller(client, _token("default"))("post", "notes", target=on(session), text="x")["id"]
    )
    elsewhere = Caller(client, _token("other"))
    assert elsewhere("get", "notes", 200)["total"] == 0
    elsewhere("patch", f"notes/{note.pk}", 404, text="y")
    elsewhere("delete", f"notes/{note.pk}", 404)
    elsewhere("post", "notes", 404, target=on(session), text="x")
    elsewhere("post", "notes", 404, parent=note.pk, text="x")
    assert not ScoreDefinition.objects.filter(project=other).exists()
    message = elsewhere("post", "notes", 404, target=on(session), name="quality", value=1)["message"]
    assert "quality" not in message


def _token(slug):
    return tokens.issue(Project.objects.get(slug=slug), "t", ["ingest", "read"])


def test_viewers_read_members_write_and_only_authors_and_admins_change(person, session):
    viewer, mira, jonas, admin = person("v", "viewer"), person("mira"), person("jonas"), person("a", "admin")
    viewer("post", "notes", 403, target=on(session), text="x")
    note = mira("post", "notes", 201, target=on(session), text="x")
    assert viewer("get", "notes", 200)["total"] == 1
    jonas("patch", f"notes/{note['id']}", 403, text="y")
    jonas("delete", f"notes/{note['id']}", 403)
    assert mira("patch", f"notes/{note['id']}", 200, text="y")["text"] == "y"
    assert jonas("patch", f"notes/{note['id']}", 200, resolved=True)["resolved_by"] == "jonas"
    assert jonas("patch", f"notes/{note['id']}", 200, resolved=False)["resolved_at"] is None
    admin("delete", f"notes/{note['id']}", 204)
    assert not Note.objects.exists()


def test_a_cookie_alone_does_not_write(person, session):
    answer = person("mira", checks_csrf=True)("post", "notes", 403, target=on(session), text="x")
    assert "CSRF" in answer["message"]


def test_two_people_give_one_score_each(person, session):
    mira, jonas = person("mira"), person("jonas")
    for caller, value in ((mira, 4), (jonas, 2), (mira, 5)):
        caller("post", "notes", target=on(session), name="quality", value=value)
    assert sorted(Note.objects.values_list("author", "number")) == [("jonas", 2), ("mira", 5)]


def test_a_reply_has_the_target_of_its_note_and_no_replies(person, session):
    mira = person("mira")
    note = mira("post", "notes", 201, target=on(session, loop=LOOP, turn=0), text="Why?")
    reply = mira("post", "notes", 201, parent=note["id"], text="Because.")
    assert (reply["parent"], reply["target"]) == (note["id"], note["target"])
    mira("post", "notes", 400, parent=reply["id"], text="x")
    mira("delete", f"notes/{note['id']}", 204)
    assert not Note.objects.exists()


def test_a_mention_is_listed_for_its_member_only(person, session):
    mira = person("mira")
    person("jonas")
    User.objects.create_user("stranger")
    mira("post", "notes", 201, target=on(session), text="@Jonas. look, @stranger @mira a@jonas")
    assert list(Mention.objects.values_list("user__username", flat=True)) == ["jonas"]


def test_lists_are_filtered_and_paged(program, person, session):
    for n in range(5):
        program("post", "notes", 201, target=on(session), text=f"note {n}")
    person("mira")("post", "notes", 201, target=on(session), kind="bookmark")
    program("post", "notes", 201, target=on(session), name="quality", value=1)

    assert program("get", "notes?kind=note&limit=2")["total"] == 5
    assert program("get", "notes?kind=bookmark")["items"][0]["source"] == "human"
    assert program("get", "notes?name=quality&source=code")["total"] == 1
    assert program("get", "notes?session_id=none")["total"] == 0
    seen, cursor = [], ""
    while cursor is not None:
        page = program("get", f"notes?limit=3&cursor={cursor}")
        seen += [item["id"] for item in page["items"]]
        cursor = page["next"]
    assert seen == sorted(Note.objects.values_list("pk", flat=True))
    assert program("get", "notes?kind=x", 400)["code"] == "bad_query"


def test_a_page_of_notes_takes_the_same_queries_whatever_their_number(
    program, session, django_assert_num_queries, client
):
    for n in range(50):
        program("post", "notes", 201, target=on(session, loop=LOOP, turn=n % 2), text=str(n))
    with django_assert_num_queries(4):  # the token, the page, the total, their sessions
        program("get", "notes?limit=50", 200)


@pytest.mark.parametrize(
    "body",
    [
        {"text": "x"},
        {"target": {"session_id": "s"}, "text": " "},
        {"target": {"session_id": "s"}, "text": "a\0b"},
        {"target": {"session_id": "s"}, "text": "x" * 20_001},
        {"target": {"session_id": "s"}, "text": "x", "unknown": 1},
        {"target": {"session_id": "s\0"}, "text": "x"},
        {"target": {"session_id": "s"}, "name": "quality"},
        {"target": {"session_id": "s"}, "kind": "bookmark"},
        {"target": {"session_id": "s"}, "text": "x", "source": "human"},
        {"target": {"session_id": "s"}, "text": "x", "id": "x" * 201},
        {"target": {"session_id": "s"}, "text": "\ud800"},
    ],
)
def test_a_bad_body_is_refused_and_writes_nothing(program, session, body):
    assert program("post", "notes", 400, **body)["message"]
    assert not Note.objects.exists()


def test_admins_define_scores_and_delete_unused_ones(person, session, program):
    admin, member = person("a", "admin"), person("m")
    assert [item["name"] for item in member("get", "scores")["items"]] == ["quality", "solved", "correct"]
    member("post", "scores", 403, name="style", kind="number")
    program("post", "scores", 403, name="style", kind="number")
    made = admin("post", "scores", 201, name="style", kind="number", min=0, max=1, targets=["turn"])
    assert (made["min"], made["max"], made["given"]) == (0, 1, 0)
    assert admin("post", "scores", 409, name="style", kind="number")["code"] == "conflict"
    admin("post", "scores", 400, name="2x", kind="number")
    admin("post", "scores", 400, name="c", kind="category", categories=["one"])
    admin("post", "scores", 400, name="r", kind="number", min=5, max=5)
    admin("delete", "scores/style", 204)
    admin("delete", "scores/style", 404)
    admin("post", "notes", 201, target=on(session), name="quality", value=3)
    assert "1 scores use quality" in admin("delete", "scores/quality", 400)["message"]
    assert admin("get", "scores")["items"][0]["given"] == 1


def test_the_openapi_document_describes_the_endpoints(program, session):
    paths = program("get", "openapi.json")["paths"]
    assert set(paths["/api/v1/notes"]) == {"get", "post"}
    assert set(paths["/api/v1/notes/{pk}"]) == {"patch", "delete"}
    assert set(paths["/api/v1/scores"]) == {"get", "post"}


def test_an_archived_project_says_that_it_is_archived(program, person, session, project):
    callers = [program, person("mira"), person("vera", "viewer")]
    Project.objects.filter(pk=project.pk).update(archived_at=timezone.now())
    for caller in callers:
        answer = caller("post", "notes", 403, target=on(session), text="late")
        assert (answer["code"], "archived" in answer["message"]) == ("forbidden", True)

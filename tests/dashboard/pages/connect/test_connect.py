"""The page Connect an agent: its lines, its token, and what arrives."""

import json
import re
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.http import QueryDict
from django.utils import timezone

from dashboard.pages.connect.live import ARRIVAL, open_page
from dashboard.pages.connect.queries import arrivals, made, token_of
from dashboard.pages.connect.senders import PLACEHOLDER, check, senders
from dashboard.pages.connect.views import COOKIE
from recorder.access import tokens
from recorder.core.sources import OTLP
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Project, Refusal
from recorder.pubsub.invalidation import Invalidation, subscribe, unsubscribe
from tests.recorder.journal.spans import captures

pytestmark = pytest.mark.django_db(transaction=True)

CONNECT = Path(__file__).parents[4] / "docs" / "how-to" / "connect"
DOCUMENTED = senders("http://127.0.0.1:8000", "lsk_your_token")
ORIGIN, TOKEN = "https://loopscope.example", "lsk_key_secret"


@pytest.fixture
def project():
    return Project.objects.create(slug="p")


@pytest.mark.parametrize("sender", senders(ORIGIN, TOKEN), ids=lambda each: each.key)
def test_the_lines_of_a_sender_hold_address_and_token(sender):
    text = "\n".join(snippet.text for snippet in sender.snippets)
    assert "ORIGIN" not in text
    assert "TOKEN_HERE" not in text
    assert ORIGIN in text
    assert TOKEN in text
    assert len(sender.mark) == 2


@pytest.mark.parametrize("sender", DOCUMENTED, ids=lambda each: each.key)
def test_the_document_of_a_sender_has_the_lines_of_the_page(sender):
    text = (CONNECT / f"{sender.key}.md").read_text()
    blocks = re.findall(r"^([^\n]+)\n\n```\w+\n(.*?)\n```$", text, re.DOTALL | re.MULTILINE)
    assert blocks == [(snippet.label, snippet.text) for snippet in sender.snippets]


def test_every_document_is_of_a_sender():
    assert {path.stem for path in CONNECT.glob("*.md")} == {each.key for each in senders(ORIGIN, TOKEN)}


def test_without_a_token_the_lines_hold_a_placeholder():
    assert PLACEHOLDER in check(ORIGIN, "")
    assert all(PLACEHOLDER in str(each.snippets) for each in senders(ORIGIN, ""))


def test_what_arrives_after_the_token_was_made_is_shown(project, django_assert_num_queries):
    captures.record(project, captures.lines("frameworks/pydantic-ai/02-tool")[0])
    key = made(project.pk, tokens.issue(project, "t", ["ingest"]))
    assert arrivals([key])[key].session is None, "recorded before"
    assert "Waiting for the first session" in ARRIVAL.draw([key])[key], "the name says nothing of a sender"

    for batch in captures.lines("frameworks/vercel-ai-sdk/02-tool"):
        captures.record(project, batch)

    with django_assert_num_queries(3):
        arrival = arrivals([key])[key]
    assert arrival.session.session_id == "conv-0001"
    assert (arrival.has_text, arrival.has_tools, arrival.has_tokens) == (True, True, True)
    html = ARRIVAL.draw([key])[key]
    assert "2 turns" in html
    assert "<b>Connected.</b> <span" in html


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("Claude Code", "the first line of a transcript"),
        ("LangGraph", "the first span"),
        ("Your own program", "the first event"),
        ("curl", "the first event"),
        ("ci", "the first session"),
    ],
)
def test_the_page_waits_for_what_the_sender_sends(project, name, first):
    key = made(project.pk, tokens.issue(project, name, ["ingest"]))
    assert f"<b>Waiting for {first}.</b>" in ARRIVAL.draw([key])[key]


@pytest.mark.parametrize("page", ["welcome", ""])
def test_an_empty_project_leads_to_the_page(client, project, page):
    client.force_login(User.objects.create_superuser("root"))
    answer = client.get(f"/p/p/{page}" if page else "/")
    assert answer["Location"] == "/p/p/connect"


@pytest.mark.parametrize(("role", "may_play"), [("viewer", False), ("member", True)])
def test_who_may_play_the_demo_sees_its_button(client, project, role, may_play):
    project.memberships.create(user=User.objects.create_user("bob"), role=role)
    client.force_login(User.objects.get(username="bob"))
    assert ("Play the demo" in client.get("/p/p/connect").content.decode()) is may_play


def test_a_new_token_is_shown_once_and_in_every_line(client, project):
    client.force_login(User.objects.create_superuser("root"))
    answer = client.post("/p/p/connect/token", {"agent": "events"})
    cookie = answer.cookies[COOKIE]

    key = project.tokens.get().pk
    assert (answer.status_code, answer["Location"]) == (302, f"/p/p/connect?agent=events&token={key}")
    assert "no-store" in answer["Cache-Control"]
    assert (cookie["path"], cookie["httponly"], cookie["samesite"]) == ("/p/p/connect", True, "Strict")

    page = client.get(answer["Location"])
    (shown,) = set(re.findall(r"lsk_\w+", page.content.decode()))
    assert "no-store" in page["Cache-Control"]
    assert page.cookies[COOKIE].value == ""
    assert tokens.find(shown).scopes == "ingest"
    assert PLACEHOLDER not in page.content.decode()

    again = client.get(answer["Location"]).content.decode()
    assert shown not in again
    assert "Waiting for the first event" in again
    assert project.tokens.count() == 1


def test_a_new_token_is_shown_only_to_who_made_it_and_in_its_project(client, project):
    other = Project.objects.create(slug="other")
    for name in ("ada", "bob"):
        User.objects.create_superuser(name)
    client.force_login(User.objects.get(username="ada"))
    answer = client.post("/p/p/connect/token", {"agent": "events"})
    cookie = answer.cookies[COOKIE].value

    assert "lsk_" not in client.get(f"/p/{other.slug}/connect").content.decode()
    client.force_login(User.objects.get(username="bob"))
    client.cookies[COOKIE] = cookie
    assert "lsk_" not in client.get(answer["Location"]).content.decode()


@pytest.mark.parametrize("fields", [{}, {"agent": ""}, {"agent": "unknown"}])
def test_for_no_agent_and_an_unlisted_one_no_token_is_made(client, project, fields):
    client.force_login(User.objects.create_superuser("root"))
    assert client.post("/p/p/connect/token", fields).status_code == 404
    assert not project.tokens.exists()


def test_the_python_programs_are_python():
    for sender in senders("https://loops.example", "lsk_a_b"):
        for snippet in sender.snippets:
            if "Python" in snippet.label:
                compile(snippet.text, snippet.label, "exec")


def test_the_number_of_queries_is_fixed(client, project, django_assert_num_queries):
    client.force_login(User.objects.create_superuser("root"))
    client.get("/p/p/connect")
    with django_assert_num_queries(10):
        client.get("/p/p/connect")


def refuse(project, key="", code="unauthorized", **more):
    row = {"status": 401, "path": "/v1/traces", "message": "a valid bearer token is needed", **more}
    Refusal.objects.create(project=project, key=key, code=code, at=timezone.now(), **row)


def test_a_refused_request_is_shown_until_a_session_arrives(project):
    refuse(project)
    token = tokens.issue(project, "t", ["ingest"])
    key = made(project.pk, token)
    assert "refused" not in ARRIVAL.draw([key])[key], "refused before"

    path = "/v1/traces/<script>"
    refuse(project, token.split("_")[1], "bad_body", status=400, path=path, message="<b>no</b>")
    html = ARRIVAL.draw([key])[key]
    assert "Something arrived, but was refused." in html
    assert "/v1/traces/&lt;script&gt;" in html
    assert "&lt;b&gt;no&lt;/b&gt;" in html
    assert "Waiting for the first session" not in html
    assert "another token" not in html

    captures.record(project, captures.lines("frameworks/pydantic-ai/02-tool")[0])
    html = ARRIVAL.draw([key])[key]
    assert "Connected." in html
    assert "refused" not in html


def spans(project, number, attributes, *, token=0, trace=1):
    """Send spans that are no model call."""
    whole = [
        {
            "traceId": f"{trace:032x}",
            "spanId": f"{each:016x}",
            "name": "GET /",
            "startTimeUnixNano": "1771000000000000000",
            "endTimeUnixNano": "1771000001000000000",
            "attributes": [{"key": name, "value": {"stringValue": "secret"}} for name in attributes],
        }
        for each in range(1, number + 1)
    ]
    lines = [{"resourceSpans": [{"scopeSpans": [{"spans": [each]}]}]} for each in whole]
    ingest(Batch(project.pk, "otlp", None, [json.dumps(line).encode() for line in lines], OTLP, token=token))


def test_spans_that_are_no_model_call_are_named_until_a_session_arrives(project, django_assert_num_queries):
    key = made(project.pk, tokens.issue(project, "LangGraph", ["ingest"]))
    other = made(project.pk, tokens.issue(project, "LangGraph", ["ingest"]))
    spans(project, 12, ["http.route", "<script>"], token=key)

    with django_assert_num_queries(5):
        html = ARRIVAL.draw([key])[key]
    assert "12 spans came, none of them a model call, a tool call or an agent." in html
    assert "Their attributes:" in html
    assert ">http.route</code>" in html
    assert "&lt;script&gt;" in html
    assert "secret" not in html
    assert "/p/p/integrity?list=unrecorded" in html
    assert "Waiting for" not in html
    assert "Waiting for the first span" in ARRIVAL.draw([other])[other], "of another token"

    captures.record(project, captures.lines("frameworks/pydantic-ai/02-tool")[0])
    html = ARRIVAL.draw([key])[key]
    assert "Connected." in html
    assert "none of them" not in html


def test_one_span_and_many_attributes_are_said_in_numbers(project):
    key = made(project.pk, tokens.issue(project, "t", ["ingest"]))
    spans(project, 1, [f"name{number:02}" for number in range(30)], token=key)
    html = ARRIVAL.draw([key])[key]
    assert "1 span came, and it is no model call, tool call or agent." in html
    assert "Its attributes:" in html
    assert (html.count("<code"), "and 18 more" in html) == (13, True)


def test_spans_without_attributes_are_said_to_have_none(project):
    key = made(project.pk, tokens.issue(project, "t", ["ingest"]))
    spans(project, 2, [], token=key)
    assert "They have no attributes." in ARRIVAL.draw([key])[key]


def test_the_page_is_drawn_again_when_spans_change_no_record(project):
    key = made(project.pk, tokens.issue(project, "t", ["ingest"]))
    page = open_page(project, None, QueryDict(f"token={key}"))
    published = []
    subscribe(published.append)
    try:
        spans(project, 2, ["http.route"], token=key)
    finally:
        unsubscribe(published.append)
    assert any(page.dirty_panels(each) for each in published)


def test_a_request_with_another_token_of_the_project_says_so(project):
    key = made(project.pk, tokens.issue(project, "t", ["ingest"]))
    refuse(project, "0123abcd")
    refuse(Project.objects.create(slug="other"), "other")
    html = ARRIVAL.draw([key])[key]
    assert "its token is missing, unknown, expired or revoked" in html
    assert "another token of this project, <code>0123abcd</code>" in html
    assert "create a new token" in html


def test_the_page_is_drawn_again_after_a_refused_request(project):
    key = made(project.pk, tokens.issue(project, "t", ["ingest"]))
    page = open_page(project, None, QueryDict(f"token={key}"))
    assert page.dirty_panels(Invalidation(project.pk, refused=True)) == [(ARRIVAL, [key])]
    assert page.dirty_panels(Invalidation(project.pk)) == []


def test_a_token_of_another_project_shows_nothing(project):
    other = Project.objects.create(slug="other")
    key = made(other.pk, tokens.issue(other, "t", ["ingest"]))

    assert token_of(project.pk, str(key)) is None
    assert open_page(project, None, QueryDict(f"token={key}")).tokens == []
    assert open_page(other, None, QueryDict(f"token={key}")).tokens == [key]
    assert [token_of(project.pk, given) for given in ("", "x", "9" * 40, "-1")] == [None] * 4


@pytest.mark.parametrize("role", ["viewer", "member"])
def test_who_may_not_create_a_token_sees_the_lines_and_who_creates_one(client, project, role):
    for name, held in (("ada", "admin"), ("gone", "admin"), ("bob", role)):
        project.memberships.create(user=User.objects.create_user(name), role=held)
    User.objects.filter(username="gone").update(is_active=False)
    client.force_login(User.objects.get(username="bob"))
    page = client.get("/p/p/connect?agent=otlp").content.decode()

    assert "Create token" not in page
    assert '<b dir="auto">ada</b>' in page
    assert PLACEHOLDER in page
    assert client.post("/p/p/connect/token", {"agent": "otlp"}).status_code == 403
    assert not project.tokens.exists()


def test_without_an_admin_in_the_project_a_superuser_is_named(client, project):
    project.memberships.create(user=User.objects.create_user("bob"))
    User.objects.create_superuser("root")
    client.force_login(User.objects.get(username="bob"))

    assert '<b dir="auto">root</b>' in client.get("/p/p/connect").content.decode()

"""The welcome page: a token shown once, programs that contain it, and the wait for the first event."""

import html
import re

import pytest
from django.contrib.auth.models import User

from dashboard.pages.welcome.snippets import snippets
from recorder.access import tokens
from recorder.models import AccessToken, Membership, Project

PAGE = "/p/acme/welcome"


@pytest.fixture
def acme(db):
    return Project.objects.create(slug="acme")


@pytest.fixture
def member(client, acme):
    user = User.objects.create_user("ada")
    Membership.objects.create(project=acme, user=user, role="admin")
    client.force_login(user)
    return user


def programs(answer):
    return [
        html.unescape(text)
        for text in re.findall(r"<pre[^>]*><code>(.*?)</code>", answer.content.decode(), re.S)
    ]


def test_the_programs_have_the_url_of_this_server(client, member):
    answer = client.get(PAGE, headers={"host": "localhost:8123"})
    python, curl, socket = programs(answer)

    assert 'URL = "http://localhost:8123/ingest/v1/events"' in python
    assert '"http://localhost:8123/ingest/v1/events"' in curl
    assert 'URL = "ws://localhost:8123/ingest/v1/ws"' in socket
    assert all("YOUR_TOKEN" in program for program in (python, curl, socket))


def test_a_new_token_is_in_every_program_and_not_shown_again(client, member, acme):
    answer = client.post(f"{PAGE}/token")
    made = AccessToken.objects.get()
    shown = re.search(r"lsk_\w+", answer.content.decode())[0]

    assert "no-store" in answer["Cache-Control"]
    assert tokens.find(shown) == made
    assert (made.project, made.scopes, made.created_by) == (acme, "ingest", member)
    assert all(shown in program for program in programs(answer))
    assert shown not in client.get(PAGE).content.decode()


@pytest.mark.parametrize(("role", "may_play"), [("viewer", False), ("member", True)])
def test_who_may_not_create_tokens_learns_who_does(client, member, acme, role, may_play):
    bob = User.objects.create_user("bob")
    Membership.objects.create(project=acme, user=bob, role=role)
    client.force_login(bob)
    page = client.get(PAGE).content.decode()

    assert "Create token" not in page
    assert '<b dir="auto">ada</b>' in page
    assert ("Play the demo" in page) is may_play
    assert client.post(f"{PAGE}/token").status_code == 403
    assert not AccessToken.objects.exists()


def test_a_non_member_gets_404(client, member, acme):
    Membership.objects.all().delete()
    assert client.post(f"{PAGE}/token").status_code == 404
    assert client.get(PAGE).status_code == 404
    assert not AccessToken.objects.exists()


def test_the_page_waits_for_the_first_event(client, member):
    assert b"Waiting for the first event" in client.get(PAGE).content


@pytest.mark.parametrize(
    "program", snippets("https://loops.example", "lsk_a_b")[::2], ids=lambda program: program.key
)
def test_the_python_programs_are_python(program):
    compile(program.text, program.key, "exec")


def test_the_number_of_queries_is_fixed(client, member, django_assert_num_queries):
    client.get(PAGE)
    with django_assert_num_queries(11):
        client.get(PAGE)

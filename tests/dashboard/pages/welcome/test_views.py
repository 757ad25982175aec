"""The first run: a token shown once, programs with it in them, and a page that waits."""

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
    Membership.objects.create(project=acme, user=user)
    client.force_login(user)
    return user


def programs(answer):
    return [
        html.unescape(text)
        for text in re.findall(r"<pre[^>]*><code>(.*?)</code>", answer.content.decode(), re.S)
    ]


def test_a_newcomer_sees_programs_for_this_very_server(client, member):
    answer = client.get(PAGE, headers={"host": "localhost:8123"})
    python, curl, socket = programs(answer)

    assert 'URL = "http://localhost:8123/ingest/v1/events"' in python
    assert '"http://localhost:8123/ingest/v1/events"' in curl
    assert 'URL = "ws://localhost:8123/ingest/v1/ws"' in socket
    assert all("YOUR_TOKEN" in program for program in (python, curl, socket))


def test_a_token_is_made_put_into_every_program_and_not_shown_again(client, member, acme):
    answer = client.post(f"{PAGE}/token")
    made = AccessToken.objects.get()
    shown = re.search(r"lsk_\w+", answer.content.decode())[0]

    assert "no-store" in answer["Cache-Control"]
    assert tokens.find(shown) == made
    assert (made.project, made.scopes, made.created_by) == (acme, "ingest", member)
    assert all(shown in program for program in programs(answer))
    assert shown not in client.get(PAGE).content.decode()


def test_a_viewer_makes_no_token_and_an_outsider_finds_no_page(client, member, acme):
    Membership.objects.update(role="viewer")
    assert client.post(f"{PAGE}/token").status_code == 403
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


def test_the_page_asks_the_same_few_queries(client, member, django_assert_num_queries):
    client.get(PAGE)
    with django_assert_num_queries(9):
        client.get(PAGE)

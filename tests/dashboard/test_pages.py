"""Every page of the shell: nothing inline, nothing foreign, and error pages that tell nothing."""

import re

import pytest
from django.contrib.auth.models import User
from django.template.loader import render_to_string
from django.test import Client
from django.urls import get_resolver

from recorder.models import Project

INLINE = re.compile(r"<style|<script(?![^>]*\bsrc=)|\bstyle=|\bon\w+=|javascript:", re.I)


@pytest.mark.parametrize(
    ("path", "status"),
    [("/signin", 200), ("/signin/abc", 200), ("/there-is-no-such-page", 404), ("/p/x/settings", 302)],
)
def test_a_page_holds_nothing_inline_and_nothing_foreign(client, db, path, status):
    answer = client.get(path)
    html = answer.content.decode()

    assert answer.status_code == status
    assert not INLINE.search(html)
    assert not re.search(r'(?:src|href)="(?:https?:)?//', html)


def test_the_front_door_leads_to_the_sign_in_page(client, db):
    assert client.get("/")["Location"] == "/signin?next=/"


@pytest.mark.parametrize("name", ["400", "403", "403_csrf", "404", "500", "503"])
def test_an_error_page_needs_neither_database_nor_request(name):
    html = render_to_string(f"{name}.html")

    assert "<h1>" in html
    assert not INLINE.search(html)


def test_an_unknown_host_and_an_unknown_page_tell_no_path_and_no_version(client, db):
    answer = Client().get("/p/%00/x")

    assert answer.status_code == 404
    for word in ("Traceback", "Django", "/site-packages/", "Python/"):
        assert word not in answer.content.decode()


@pytest.mark.parametrize("number", ["9" * 18, "9" * 19, "9" * 40])
def test_a_number_of_nothing_is_not_found_however_large(client, db, number):
    Project.objects.create(slug="default")
    client.force_login(User.objects.create_superuser("root"))
    routes = [str(each.pattern) for each in get_resolver().url_patterns]
    paths = [
        re.sub(r"<\w+:\w+>", number, each.replace("<slug:slug>", "default"))
        for each in routes
        if "<key:" in each
    ]
    answers = {path: client.get(f"/{path}").status_code for path in paths}

    assert len(answers) > 10
    assert set(answers.values()) <= {404, 405}, answers

"""People of a project who save views and open them."""

import json
import re
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.test import Client

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Membership, Project, SavedView


class Person:
    """A signed-in person with a browser without scripts."""

    def __init__(self, project, name, role):
        self.user = User.objects.create_user(name, is_superuser=role == "superuser")
        if role in Membership.Role.values:
            project.memberships.create(user=self.user, role=role)
        self.client = Client()
        self.client.force_login(self.user)
        self.path = f"/p/{project.slug}/"

    def see(self, path, expect=200):
        answer = self.client.get(path if path.startswith("/") else self.path + path)
        assert answer.status_code == expect, answer.status_code
        return answer["Location"] if expect == 302 else unescape(answer.content.decode())

    def post(self, path, expect=302, **fields):
        answer = self.client.post(self.path + path, fields)
        assert answer.status_code == expect, answer.content
        return answer["Location"] if expect == 302 else unescape(answer.content.decode())

    def save(self, name="Failures", query="outcome=failed", expect=302, **fields):
        return self.post("views/new", expect, **{"name": name, "page": "sessions", "query": query} | fields)

    def view(self, name="Failures"):
        return SavedView.objects.get(name=name, owner=self.user)


@pytest.fixture
def project(db):
    return Project.objects.create(slug="default")


@pytest.fixture
def person(project):
    return lambda name, role="member": Person(project, name, role)


@pytest.fixture
def feed(project):
    def feed(*events):
        lines = [json.dumps(event).encode() for event in events]
        assert ingest(Batch(project=project.pk, producer=None, first=None, lines=lines)).rejected == []

    return feed


def rows(html):
    return re.findall(r'<a href="([^"]*)" data-row', html)


def tabs(html):
    """Return the names of the saved views in the bar."""
    bar = re.search(r'<nav class="tabs" aria-label="Saved views">.*?</nav>', html, re.S)[0]
    return re.findall(r'<span dir="auto">(.*?)</span>', bar)


def actions(html):
    """Return the words of the buttons and links at the end of the bar."""
    end = re.search(r'<div class="views-actions">(.*?)</div>\s*(?:<p|<form|<div|$)', html, re.S)[1]
    return [word for word in ("Edited", "Save as", "Reset", "Save this view", ">Save<") if word in end]

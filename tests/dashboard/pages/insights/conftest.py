"""A project with insights, and users of every role."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from recorder.insights.consolidate import consolidate
from recorder.models import Membership, Project
from tests.recorder.insights.fixtures import working
from tests.recorder.insights.llm_server import speaker
from tests.recorder.insights.projects import feed, quiet

__all__ = ("speaker",)  # a fixture


@pytest.fixture
def project(db):
    return Project.objects.create(slug="default")


@pytest.fixture
def learn(project, monkeypatch):
    """Record loops and consolidate them."""
    monkeypatch.setattr("recorder.insights.consolidate.PAUSE_S", 0)

    def learn(*loops, into=project, **more):
        feed(into, *loops, **more)
        consolidate(into, quiet)

    return learn


@pytest.fixture
def insights(learn):
    learn(
        *(working(f"s{n}.a.1", "read a", "test!", "edit a", "test", title=f"Session {n}") for n in range(3))
    )


@pytest.fixture
def person(project):
    """Return a browser of somebody with a role in the project, "" for a stranger."""

    def person(role):
        user = User.objects.create_user(role or "stranger")
        if role:
            Membership.objects.create(project=project, user=user, role=role)
        client = Client()
        client.force_login(user)
        return client

    return person


@pytest.fixture
def see(person):
    browser = person("member")

    def see(query=""):
        answer = browser.get(f"/p/default/insights{query}")
        assert answer.status_code == 200
        return answer.content.decode()

    see.browser = browser
    return see

"""A project with a session that is shared and others that are not; people, and a browser without a cookie."""

import json
import re
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.pages.share import mask, opening
from recorder.access import share_links
from recorder.access.share_links import Target, Terms
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Membership, ParallelGroupRecord, Project, Session
from tests.support import build
from tests.support.small_loop import Loop

FOREIGN = "Zwetschgendatschi"  # a word of every record that is not shared, and of nothing else
MAIL = "ada@example.org"
PARENT = f"{FOREIGN}-parent"
URL = re.compile(r'\s(?:href|src|action|hx-get|hx-post|ws-connect|data-[a-z-]*)="([^"]*)"')


@pytest.fixture(autouse=True)
def _no_attempts():
    opening.attempts.clear()


@pytest.fixture
def project(db):
    return Project.objects.create(slug="default", title=f"{FOREIGN} project")


@pytest.fixture
def feed(project):
    def feed(*events, producer=None):
        lines = [json.dumps(event).encode() for event in events]
        assert ingest(Batch(project=project.pk, producer=producer, first=None, lines=lines)).rejected == []

    return feed


@pytest.fixture
def session(feed):
    """A session with two loops and a sub-agent, whose session is not shared; and another session."""
    parent, child = Loop("shared", "one"), Loop(f"{FOREIGN}-child")
    feed(
        parent.start(),
        parent.turn(),
        *parent.prompt(
            f"Write to {MAIL}, then <b>stop</b>. See /p/default/costs and http://testserver/p/default/."
        ),
        parent.answering(),
        parent.answer("[Costs](/p/default/costs), [docs](https://example.org/docs)\n\n- *one*\n- `two`"),
        parent.tool("c1", "task", prompt="go"),
    )
    feed(child.start(), *child.whole_turn(f"{FOREIGN} answer"), child.end(), producer="child")
    feed(_spawned(parent, "c1", child), parent.turn_end("Done."), parent.end())
    above = Loop(PARENT)
    feed(
        above.start(), above.turn(), above.tool("p1", "task"), _spawned(above, "p1", parent), producer="above"
    )
    second = Loop("shared", "two")
    feed(second.start(), *second.whole_turn("second"), second.end())
    feed(*Loop(f"{FOREIGN}-other").whole(f"{FOREIGN} text"))
    return Session.objects.get(session_id="shared")


def _spawned(loop, call, child):
    """Return the end of the tool call that ran a sub-agent."""
    event = loop.tool_end(call, "line\n" * 3_000, "task")
    return event | {"result": event["result"] | {"child_loop_id": child.id}}


@pytest.fixture
def group(feed):
    """An evaluation of two branches with a judge; return its primary key."""
    feed(*_evaluation())
    return ParallelGroupRecord.objects.get().pk


def _evaluation():
    names = ["ev.a.1", "ev.b.1"]
    yield build.parallel_start(*names, session="ev")
    for name in names:
        yield from (build.agent_start(name, session="ev"), build.turn_start(name), build.agent_end(name))
    yield build.parallel_end(names[1], index=1, session="ev")


class Person:
    """A signed-in person with a browser without scripts."""

    def __init__(self, project, name, role):
        self.user = User.objects.create_user(name, is_superuser=role == "superuser")
        if role in Membership.Role.values:
            project.memberships.create(user=self.user, role=role)
        self.client = Client()
        self.client.force_login(self.user)

    def post(self, path, expect, **fields):
        answer = self.client.post(f"/p/default/{path}", fields)
        assert answer.status_code == expect, answer.content
        return unescape(answer.content.decode())

    def get(self, path, expect=200):
        answer = self.client.get(f"/p/default/{path}")
        assert answer.status_code == expect, answer.status_code
        return unescape(answer.content.decode())


@pytest.fixture
def person(project):
    return lambda name, role="member": Person(project, f"{FOREIGN}-{name}", role)


@pytest.fixture
def share(project, person):
    """Make a link as a member; return its path. `share("session", pk, password="…")`."""
    maker = person("maker")

    def share(kind, pk, query="", **terms):
        issued = share_links.issue(project, maker.user, Target(kind, pk, query), Terms(**terms))
        share.link = issued.link
        return f"/s/{issued.secret}"

    share.maker = maker
    return share


@pytest.fixture
def masked(monkeypatch):
    """Mask e-mail addresses, as all rules of a project would."""
    pattern = re.compile(r"[a-z]+@[a-z.]+\b")
    monkeypatch.setattr(mask, "all_rules", lambda _project: lambda text: pattern.sub("[masked:mail]", text))


def urls(html):
    """Return the URLs of a page, without fragments, and those inside `data-` attributes."""
    found = {unescape(url).partition("#")[0] for url in URL.findall(html)}
    return sorted(url for url in found if url.startswith(("/", "?", "http")))


def crawl(path):
    """Request a shared page and what it links to, as pages and as fragments; return the answers by URL.

    Redirects are followed: they must stay below the link.

    Of URLs that differ in the values of parameters only, tabs excepted, one is requested.
    """
    client, answers, todo, seen = Client(), {}, [path], set()
    while todo:
        at = todo.pop()
        before, _, query = at.partition("?")
        names = (
            before,
            *sorted(
                pair if pair[:3] in ("tab", "at=") else pair.partition("=")[0] for pair in query.split("&")
            ),
        )
        if names in seen or not at.startswith("/s/") or "/live/" in at or at.endswith("/theme"):
            continue
        seen.add(names)
        answers[at] = answer = client.get(at, follow=True)
        assert all(url.startswith(f"{path}/") for url, _ in answer.redirect_chain), answer.redirect_chain
        if answer.status_code == 200 and "html" in answer["Content-Type"]:
            answers[f"{at} (fragment)"] = fragment = client.get(
                at, headers={"HX-Request": "true"}, follow=True
            )
            found = urls(answer.content.decode()) + urls(fragment.content.decode())
            todo += [url if url[0] == "/" else before + url for url in found if url[0] in "/?"]
    return answers

"""A project with something of each kind to change, and its signed-in admin."""

from dataclasses import dataclass
from functools import cached_property

from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from recorder.access import saved_views, signin_links, tokens
from recorder.access.saved_views import Content
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import AccessToken, Insight, Membership, Note, Price, Project, SavedView, Session
from recorder.notes import targets, write
from recorder.notes.definitions import Draft, define
from recorder.notes.write import Author
from tests.dashboard.security.audited.actions import PRICE
from tests.support.build import line
from tests.support.small_loop import Loop


@dataclass
class World:
    """Everything that a driver needs; things to change are made when they are used."""

    project: Project
    user: User
    client: Client

    @classmethod
    def made(cls):
        project = Project.objects.create(slug="acme")
        user = User.objects.create_user("ada", password="right-password")
        Membership.objects.create(project=project, user=user, role="admin")
        client = Client()
        client.force_login(user)
        return cls(project, user, client)

    def post(self, path, status=302, /, **fields):
        answer = self.client.post(f"/p/acme/{path}", fields)
        assert answer.status_code == status, answer.content
        return answer

    def api(self, method, path, **body):
        url = f"/api/v1/{path}?project=acme"
        return self.client.generic(method, url, _json(body), content_type="application/json").status_code

    def link(self):
        return signin_links.issue(self.user)

    @cached_property
    def session(self):
        ingest(Batch(self.project.pk, "p", None, list(map(line, Loop("one").whole("hello")))))
        return Session.objects.get()

    @cached_property
    def note(self) -> Note:
        target = targets.find(self.project.pk, session_id=self.session.session_id)
        return write.add_note(self.project.pk, Author("ada", user=self.user), target, "words").note

    @cached_property
    def score(self):
        return define(self.project, Draft("helpful", "boolean"), "ada").name

    @cached_property
    def token(self):
        return tokens.key_of(tokens.issue(self.project, "ci", ["ingest"], user=self.user))

    @cached_property
    def insight(self):
        now = timezone.now()
        return Insight.objects.create(project=self.project, kind="fact", key="k", first_at=now, last_at=now)

    @cached_property
    def view(self) -> SavedView:
        return self._view("Shared")

    def another_view(self):
        return self.view and self._view("Another")

    def _view(self, name):
        shown = Content("q=status%3Afailed")
        return saved_views.create(self.project, self.user, "sessions", name, "project", shown)

    def price(self):
        self.post("costs/prices", **PRICE)

    def price_pk(self):
        return Price.objects.get(project=self.project, is_own=True).pk

    def newest_token(self):
        return AccessToken.objects.order_by("-pk").first().key


def _json(body):
    return line(body).decode() if body else ""

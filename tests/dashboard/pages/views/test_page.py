"""The page of saved views: roles, names, order, defaults, deletion; and the navigation."""

import re

import pytest
from django.utils import timezone

from recorder.models import DefaultView, Project, SavedView
from tests.dashboard.pages.views.conftest import tabs
from tests.support.small_loop import Loop

ROLES = ["viewer", "member", "admin", "superuser"]


@pytest.fixture(autouse=True)
def recorded(feed):
    feed(*Loop("s").whole("task"))


@pytest.mark.parametrize(
    ("role", "mine", "shared"),
    [("viewer", 403, 403), ("member", 302, 403), ("admin", 302, 302), ("superuser", 302, 302)],
)
def test_members_save_views_of_their_own_and_admins_those_of_the_project(person, role, mine, shared):
    someone = person("someone", role)

    someone.save("a", expect=mine)
    someone.save("b", visibility="project", expect=shared)
    assert ("Save this view" in someone.see("sessions")) is (mine == 302)
    assert ("This project" in someone.see("sessions")) is (shared == 302)


@pytest.mark.parametrize("role", ROLES)
def test_views_of_the_project_are_changed_by_their_owner_and_admins(person, role):
    owner, other = person("owner", "admin"), person("other", role)
    owner.save(visibility="project")
    pk, is_admin = owner.view().pk, role in ("admin", "superuser")
    status = 302 if is_admin else 403

    assert ("Edit<" in other.see("views")) is is_admin
    for person_, expect in ((other, status), (owner, 302)):
        person_.post(f"views/{pk}/content", expect, page="sessions", query="q=a")
        person_.post(f"views/{pk}/name", expect, name="Renamed")
        person_.post(f"views/{pk}/move", expect, to="up")
    other.post(f"views/{pk}/delete", status)
    assert SavedView.objects.exists() is not is_admin


def test_views_of_an_archived_project_stay_as_they_are(person):
    owner = person("owner", "admin")
    owner.save()
    owner.save("Shared", visibility="project")
    before = list(SavedView.objects.order_by("pk").values())
    Project.objects.update(archived_at=timezone.now())

    for view in before:
        for path, fields in (
            ("content", {"page": "sessions", "query": "q=a"}),
            ("name", {"name": "Renamed"}),
            ("move", {"to": "down"}),
            ("delete", {}),
        ):
            answer = owner.post(f"views/{view['id']}/{path}", 403, **fields)
            assert "This project is archived" in answer, path
    assert list(SavedView.objects.order_by("pk").values()) == before
    assert "Edit<" not in owner.see("views")
    assert "Save this view" not in owner.see("sessions")
    owner.post(f"views/{before[0]['id']}/default", default="1")


def test_a_private_view_of_another_person_does_not_exist(person):
    ada, root = person("ada"), person("root", "superuser")
    ada.save()
    pk = ada.view().pk

    assert "Failures" not in root.see("views")
    for action in ("content", "name", "move", "default", "delete"):
        root.post(f"views/{pk}/{action}", 404)


def test_a_name_that_exists_is_an_error_at_the_field(person):
    ada = person("ada")
    ada.save()
    again = ada.save(query="agent=coder&since=7d", expect=409)

    assert 'value="Failures" maxlength="80" required autocomplete="off" aria-invalid="true"' in " ".join(
        again.split()
    )
    assert "There is another view with this name" in again
    assert 'name="query" value="agent=coder&since=7d"' in again
    ada.save("Other")
    refused = ada.post(f"views/{ada.view('Other').pk}/name", 409, name="Failures")
    assert "There is another view with this name" in refused
    assert ada.save(" ", expect=409).count("Enter a name.") == 1


def test_views_are_ordered_by_their_people(person):
    ada = person("ada")
    for name in "abc":
        ada.save(name)
    ada.post(f"views/{ada.view('c').pk}/move", to="up")
    assert tabs(ada.see("sessions")) == ["a", "c", "b"]
    ada.post(f"views/{ada.view('a').pk}/move", to="down")
    ada.post(f"views/{ada.view('b').pk}/move", to="down")  # it is the last one
    assert tabs(ada.see("sessions")) == ["c", "a", "b"]


def test_my_default_opens_from_the_navigation_and_changes_no_address(person):
    ada, bo = person("ada", "admin"), person("bo", "viewer")
    url = ada.save(visibility="project")
    pk = ada.view().pk
    bo.post(f"views/{pk}/default", default="1")

    def nav(page):
        return re.search(r'<a\s+href="([^"]*)"\s+title="Sessions"', page)[1]

    assert nav(bo.see("sessions")) == url
    assert nav(ada.see("sessions")) == "/p/default/sessions"
    assert bo.see("/", 302) == url
    assert "Failures" in bo.see("sessions")
    assert 'aria-current="page"' in bo.see("sessions").split('aria-label="Saved views"')[0]
    bo.post(f"views/{pk}/default", default="0")
    assert nav(bo.see("sessions")) == "/p/default/sessions"


def test_a_view_that_becomes_private_is_nobody_elses_default(person):
    ada, bo = person("ada", "admin"), person("bo")
    ada.save(visibility="project")
    for someone in (ada, bo):
        someone.post(f"views/{ada.view().pk}/default", default="1")
    ada.post(f"views/{ada.view().pk}/name", name="Failures", visibility="me")

    assert [default.user for default in DefaultView.objects.all()] == [ada.user]
    assert tabs(bo.see("sessions")) == []


def test_a_member_cannot_share_their_view(person):
    ada = person("ada")
    ada.save()
    ada.post(f"views/{ada.view().pk}/name", 403, name="Failures", visibility="project")
    assert ada.view().visibility == "me"


def test_navigation_and_palette_lead_to_views(person):
    ada = person("ada")
    urls = [ada.save(f"view {n}") for n in range(9)]
    page = ada.see("settings")
    palette = ada.client.get("/p/default/find?q=view+8", headers={"HX-Request": "true"}).content.decode()

    listed = re.search(r'aria-labelledby="nav-saved".*?</section>', page, re.S)[0]
    assert [url in listed for url in urls] == [True] * 8 + [False]
    assert "9 views" in listed
    assert "Open the view view 8" in palette


@pytest.mark.parametrize(
    "fields",
    [
        {"page": "settings"},
        {"visibility": "all"},
        {"query": "x" * 8_001},
        {"sort": "x" * 61},
        {"query": "\0"},
    ],
)
def test_a_forged_form_is_refused(person, fields):
    assert "This view cannot be saved." in person("ada").save(**{"expect": 400} | fields)


def test_a_stranger_has_no_views(person, client):
    ada = person("ada")
    ada.save()
    assert client.post("/p/default/views/new", {"name": "a"}).status_code == 302
    stranger = person("stranger", "none")
    stranger.see("views", 404)
    stranger.post(f"views/{ada.view().pk}/delete", 404)


def test_fifty_views_take_as_many_queries_as_one(person, django_assert_num_queries):
    ada = person("ada", "admin")
    ada.save("first")
    ada.see("views")
    with django_assert_num_queries(QUERIES):
        ada.see("views")
    for n in range(50):
        ada.save(f"view {n}", visibility="project" if n % 2 else "me")
    with django_assert_num_queries(QUERIES):
        ada.see("views")


QUERIES = 10

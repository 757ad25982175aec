"""Saved views through the read API: roles, visibility, name conflicts, CSRF."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from recorder.access import tokens
from recorder.models import Membership, Project, SavedView

PATH = "/api/v1/views"
FIELDS = {
    *("id", "name", "page", "query", "sort", "columns", "visibility", "owner", "url", "can_edit"),
}
ROLES = ("viewer", "member", "admin", "superuser")


class Person:
    """A signed-in person who uses the API."""

    def __init__(self, project, name, role):
        self.user = User.objects.create_user(name, is_superuser=role == "superuser")
        if role in Membership.Role.values:
            project.memberships.create(user=self.user, role=role)
        self.client = Client()
        self.client.force_login(self.user)

    def send(self, method, path=PATH, expect=200, **body):
        answer = self.client.generic(method, path, json.dumps(body), "application/json")
        assert answer.status_code == expect, answer.content
        return json.loads(answer.content) if answer.content else None

    def save(self, expect=201, **fields):
        body = {"name": "Failures", "page": "sessions", "query": "outcome=failed"} | fields
        return self.send("POST", expect=expect, **body)

    def names(self, query=""):
        return [item["name"] for item in self.send("GET", PATH + query)["items"]]


@pytest.fixture
def person(project):
    return lambda name, role="member", of=project: Person(of, name, role)


def test_views_of_an_archived_project_stay_as_they_are(person):
    ada = person("ada", "admin")
    path = f"{PATH}/{ada.save()['id']}"
    Project.objects.update(archived_at=timezone.now())

    new = {"name": "New", "page": "sessions"}
    for method, address, sent in (("POST", PATH, new), ("PATCH", path, {"name": "b"}), ("DELETE", path, {})):
        answer = ada.send(method, address, 403, **sent)
        assert "archived" in answer["message"], method
    assert SavedView.objects.get().name == "Failures"
    assert not ada.send("GET")["items"][0]["can_edit"]


def test_a_saved_view_is_returned_with_its_address(person):
    view = person("ada").save(sort="-cost", columns=["cost", "loops"])

    assert set(view) == FIELDS
    assert view | {"id": 0, "url": ""} == {
        "id": 0,
        "name": "Failures",
        "page": "sessions",
        "query": "outcome=failed",
        "sort": "-cost",
        "columns": ["cost", "loops"],
        "visibility": "me",
        "owner": "ada",
        "url": "",
        "can_edit": True,
    }
    assert view["url"] == (
        f"/p/default/sessions?outcome=failed&sort=-cost&cols=cost%2Cloops&q=&view={view['id']}"
    )


@pytest.mark.parametrize(
    ("role", "mine", "shared"),
    [("viewer", 403, 403), ("member", 201, 403), ("admin", 201, 201), ("superuser", 201, 201)],
)
def test_members_save_views_of_their_own_and_admins_those_of_the_project(person, role, mine, shared):
    someone = person("someone", role)

    someone.save(mine, name="a")
    someone.save(shared, name="b", visibility="project")
    assert someone.names() == ["a", "b"][: (mine == 201) + (shared == 201)]


@pytest.mark.parametrize(
    ("role", "status"), [("viewer", 403), ("member", 403), ("admin", 200), ("superuser", 200)]
)
def test_a_view_of_the_project_is_changed_and_deleted_by_its_owner_and_admins(person, role, status):
    owner, other = person("owner", "admin"), person("other", role)
    view = owner.save(visibility="project")
    path = f"{PATH}/{view['id']}"

    assert [item["can_edit"] for item in other.send("GET")["items"]] == [status == 200]
    other.send("PATCH", path, status, name="Renamed")
    assert owner.names() == ["Renamed" if status == 200 else "Failures"]
    other.send("DELETE", path, 204 if status == 200 else 403)
    assert SavedView.objects.count() == (0 if status == 200 else 1)


def test_an_owner_who_is_no_admin_any_more_still_edits_the_view_and_cannot_share_another(person, project):
    owner = person("owner", "admin")
    view = owner.save(visibility="project")
    mine = owner.save(name="mine")
    project.memberships.update(role="member")

    assert owner.send("PATCH", f"{PATH}/{view['id']}", sort="-cost")["sort"] == "-cost"
    owner.send("PATCH", f"{PATH}/{mine['id']}", 403, visibility="project")


@pytest.mark.parametrize("role", ["member", "admin", "superuser"])
def test_a_private_view_of_another_person_does_not_exist(person, role):
    view = person("ada").save()
    other = person("other", role)

    assert other.names() == []
    for method in ("PATCH", "DELETE"):
        assert other.send(method, f"{PATH}/{view['id']}", 404)["code"] == "not_found"


def test_views_of_another_project_do_not_exist(person):
    elsewhere = Project.objects.create(slug="elsewhere")
    view = person("other", "admin", elsewhere).save(visibility="project")
    ada = person("ada", "admin")

    assert ada.names() == []
    ada.send("DELETE", f"{PATH}/{view['id']}", 404)
    ada.send("GET", f"{PATH}?project=elsewhere", 404)


def test_a_read_token_reads_views_of_the_project_and_writes_none(person, project, get):
    ada = person("ada", "admin")
    ada.save(name="mine")
    view = ada.save(name="ours", visibility="project")
    (item,) = get("views")["items"]

    assert (item["name"], item["can_edit"]) == ("ours", False)
    bearer = {"Authorization": f"Bearer {tokens.issue(project, 'reads', ['read'])}"}
    client = Client(enforce_csrf_checks=True, headers=bearer)
    for method, path, body in (
        ("POST", PATH, {"name": "a", "page": "sessions"}),
        ("PATCH", f"{PATH}/{view['id']}", {"name": "a"}),
        ("DELETE", f"{PATH}/{view['id']}", {}),
    ):
        answer = client.generic(method, path, json.dumps(body), "application/json")
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


def test_a_name_is_unique_in_the_views_that_the_same_people_see(person):
    ada, bo = person("ada", "admin"), person("bo", "admin")
    view = ada.save()
    assert ada.save(409)["code"] == "conflict"
    bo.save()  # another person's
    ada.save(page="evaluations")  # another page's
    ada.save(visibility="project")
    assert "called “Failures”" in bo.save(409, visibility="project")["message"]
    other = ada.save(name="Other")
    assert ada.send("PATCH", f"{PATH}/{other['id']}", 409, name="Failures")["code"] == "conflict"
    ada.send("PATCH", f"{PATH}/{view['id']}", 409, visibility="project")
    assert ada.send("PATCH", f"{PATH}/{view['id']}", name="Failures")["name"] == "Failures"


def test_a_person_sends_a_csrf_token(person, settings):
    ada = person("ada")
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada.user)
    body = json.dumps({"name": "a", "page": "sessions"})
    refused = client.post(PATH, body, "application/json")
    client.get("/p/default/settings")
    key = client.cookies[settings.CSRF_COOKIE_NAME].value
    saved = client.post(PATH, body, "application/json", headers={"X-CSRFToken": key})

    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert saved.status_code == 201


@pytest.mark.parametrize(
    "fields",
    [
        {"name": " "},
        {"name": "x" * 81},
        {"name": "a\0"},
        {"page": "settings"},
        {"visibility": "world"},
        {"query": "\0"},
        {"query": "x" * 8_001},
        {"columns": "cost"},
        {"columns": [""] * 51},
        {"sort": 1},
        {"sort": "nope"},
        {"columns": ["zzz"]},
        {"columns": ["cost", "cost"]},
        {"query": "q=a&cols=zzz"},
        {"page": "search", "sort": "-cost"},
        {"page": "costs", "columns": ["cost"]},
        {"is_pinned": True},
    ],
)
def test_an_invalid_field_is_a_bad_body(person, fields):
    assert person("ada").save(400, **fields)["code"] == "bad_body"


@pytest.mark.parametrize(
    ("query", "url"),
    [
        ("", "?q=&view="),
        ("q=a+b&since=7d", "?q=a+b&since=7d&view="),
        ("?agent=coder&agent=x", "?agent=coder&agent=x&q=&view="),
        ("status:failed", "?q=status%3Afailed&view="),
        ("cost:>=1 OR x=y", "?q=cost%3A%3E%3D1+OR+x%3Dy&view="),
        ("two words", "?q=two+words&view="),
        ("a=b", "?q=a%3Db&view="),
        ("x=1 status:failed", "?q=x%3D1+status%3Afailed&view="),
        ("a=b&status=failed", "?q=a%3Db%26status%3Dfailed&view="),
        ("metadata.team=core", "?metadata.team=core&q=&view="),
        ("view=failed&before=1-2&after=3&view=9", "?view=failed&view={}&q="),
    ],
)
def test_a_query_is_a_query_string_or_one_of_the_search_field(person, query, url):
    view = person("ada").save(query=query)
    whole = url.format(view["id"]) if "{}" in url else f"{url}{view['id']}"
    assert view["url"] == f"/p/default/sessions{whole}"


@pytest.mark.parametrize(
    ("query", "at"),
    [("statuss:failed", 0), ("status:failed costs:>1", 14), ("since=7d&q=(a", 0), ("q=a+OR", 2)],
)
def test_a_query_that_cannot_be_read_is_refused_with_its_position(person, query, at):
    ada = person("ada")
    refused = ada.save(400, query=query)
    assert (refused["code"], refused["at"]) == ("bad_query", at)
    view = ada.save()
    assert ada.send("PATCH", f"{PATH}/{view['id']}", 400, query=query)["at"] == at
    assert ada.send("PATCH", f"{PATH}/{view['id']}", 400, sort="nope")["code"] == "bad_body"
    assert ada.send("PATCH", f"{PATH}/{view['id']}", 400, colums=["cost"])["code"] == "bad_body"


def test_order_and_columns_are_split_from_a_query_string(person):
    view = person("ada").save(query="q=a&sort=-cost&cols=cost,loops")
    assert (view["query"], view["sort"], view["columns"]) == ("q=a", "-cost", ["cost", "loops"])


def test_a_list_takes_as_many_queries_for_many_views_as_for_one(person, django_assert_num_queries):
    ada = person("ada", "admin")
    ada.save()
    with django_assert_num_queries(6):  # two of them authenticate, one is of the project
        ada.send("GET")
    for n in range(30):
        ada.save(name=f"view {n}", visibility="project" if n % 2 else "me")
    with django_assert_num_queries(6):
        assert len(ada.send("GET")["items"]) == 31


def test_pages_of_views_follow_each_other(person):
    ada = person("ada")
    for n in range(5):
        ada.save(name=str(n), page="costs" if n == 4 else "sessions")
    first = ada.send("GET", f"{PATH}?limit=3")

    assert (len(first["items"]), first["total"]) == (3, 5)
    assert ada.names(f"?cursor={first['next']}") == ["3", "4"]
    assert ada.names("?page=costs") == ["4"]

"""The audit log through the API: what is noted, who may read it, and its pages."""

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction

from recorder.access import tokens
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.journal import immutability
from recorder.models import AuditEntry, Membership, Project, Session
from recorder.operations import audit
from tests.support.build import line
from tests.support.small_loop import Loop


@pytest.fixture
def acme(db):
    project = Project.objects.create(slug="acme")
    ingest(Batch(project.pk, "p", None, list(map(line, Loop("one").whole("hello")))))
    return project


@pytest.fixture
def sign_in(client, acme):
    def sign_in(role="admin", name="ada"):
        user = User.objects.create_user(name, password="right-password")
        if role:
            Membership.objects.create(project=acme, user=user, role=role)
        client.force_login(user)

    return sign_in


def entries(client, **query):
    answer = client.get("/api/v1/audit", {"project": "acme"} | query)
    assert answer.status_code == 200, answer.content
    return answer.json()


@pytest.mark.parametrize(("role", "status"), [("viewer", 403), ("member", 403), ("admin", 200), ("", 404)])
def test_admins_alone_read_it(client, sign_in, role, status):
    sign_in(role)
    assert client.get("/api/v1/audit", {"project": "acme"}).status_code == status


def test_a_token_reads_as_a_viewer(client, acme):
    bearer = {"Authorization": f"Bearer {tokens.issue(acme, 'reads', ['read'])}"}
    assert client.get("/api/v1/audit", headers=bearer).status_code == 403


def test_actions_are_noted_with_what_they_changed(client, sign_in):
    sign_in()
    page, session = "/p/acme/settings", Session.objects.get()
    client.post(f"{page}/title", {"title": "Acme"})
    client.post(f"{page}/retention", {"days": "7"})
    client.post(f"{page}/tokens", {"name": "ci", "scope": "ingest"})
    client.post(f"/p/acme/sessions/{session.pk}/pin", {"pinned": "1"})
    client.post(f"/p/acme/sessions/{session.pk}/pin", {"pinned": ""})
    client.get(f"/api/v1/sessions/{session.session_id}/export", {"project": "acme"})
    client.post("/p/acme/sessions/delete", {"of": session.pk, "confirm": "1"})

    found = entries(client)["items"]
    assert [each["action"] for each in found] == [
        *("project.rename", "retention.change", "token.create", "session.pin", "session.unpin"),
        *("session.export", "session.delete"),
    ]
    assert {(each["actor_kind"], each["actor"], each["project"]) for each in found} == {
        ("user", "ada", "acme")
    }
    assert (found[1]["before"], found[1]["after"]) == (30, 7)
    assert "lsk_" not in str(found)


def test_what_is_refused_is_not_noted(client, sign_in):
    sign_in("member")
    client.post("/p/acme/settings/retention", {"days": "7"})
    assert not AuditEntry.objects.exists()


def test_sign_ins_are_noted_good_and_bad(client, sign_in):
    sign_in()
    client.post("/signin", {"username": "ada", "password": "wrong"})
    client.post("/signin", {"username": "ada", "password": "right-password"})
    client.post("/signin", {"username": "nobody", "password": "wrong"})
    found = entries(client)["items"]
    assert [(each["action"], each["actor"]) for each in found][-2:] == [
        ("signin.refused", "ada"), ("signin", "ada")
    ]  # fmt: skip
    assert "nobody" not in str(found)  # no member of this project


def test_commands_are_noted(acme, capsys):
    call_command("token", "create", "--project", "acme", "--name", "ci")
    call_command("token", "revoke", "ci")
    found = AuditEntry.objects.values_list("actor_kind", "action")
    assert list(found.order_by("pk")) == [("command", "token.create"), ("command", "token.revoke")]


def test_it_is_read_in_pages_and_by_filter(client, sign_in, acme):
    sign_in()
    for number in range(5):
        audit.record(acme, audit.Actor("user", "ada"), "session.pin", f"s{number}")
    audit.record(acme, audit.COMMAND, "token.create", "k")
    first = entries(client, limit=2)
    rest = entries(client, limit=200, cursor=first["next"])
    assert (len(first["items"]), len(rest["items"]), rest["next"], first["total"]) == (2, 4, None, 6)
    assert len(entries(client, action="token.create")["items"]) == 1
    assert len(entries(client, actor="ada")["items"]) == 5
    assert entries(client, since="2100-01-01T00:00:00Z")["items"] == []
    assert client.get("/api/v1/audit", {"project": "acme", "since": "x"}).status_code == 400


@pytest.mark.parametrize(
    ("query", "targets"),
    [
        ({"q": "10.0.0.7"}, ["ci"]),
        ({"q": "ada s1"}, ["s1"]),
        ({"group": "access"}, ["ci"]),
        ({"group": "signins"}, ["link"]),
        ({"actor": ["bob", "ada"], "action": ["signin", "token.create"]}, ["link", "ci"]),
        ({"until": "2001-01-01T00:00:00Z"}, []),
        ({"since": "2001-01-01T00:00:00Z", "until": "2100-01-01T00:00:00Z"}, ["link", "ci", "s1"]),
    ],
)
def test_each_filter_selects(client, sign_in, acme, query, targets):
    sign_in()
    audit.record(None, audit.Actor("user", "ada"), "signin", "link")
    audit.record(acme, audit.Actor("user", "bob", "10.0.0.7"), "token.create", "ci")
    audit.record(acme, audit.Actor("user", "ada"), "session.pin", "s1")
    assert [each["target"] for each in entries(client, **query)["items"]] == targets


@pytest.mark.parametrize("query", [{"group": "all"}, {"until": "soon"}, {"q": "x" * 513}])
def test_an_invalid_filter_is_refused(client, sign_in, query):
    sign_in()
    assert client.get("/api/v1/audit", {"project": "acme"} | query).status_code == 400


def test_an_item_has_the_words_and_the_group_of_its_action(client, sign_in, acme):
    sign_in()
    audit.record(acme, audit.COMMAND, "token.create", "k")
    item = entries(client)["items"][0]
    assert (item["words"], item["group"]) == ("Token created", "access")


def test_the_description_of_the_api_lists_the_actions(client, sign_in):
    sign_in()
    described = client.get("/api/v1/openapi.json").json()["paths"]["/api/v1/audit"]["get"]["parameters"]
    action = next(each for each in described if each["name"] == "action")
    assert "token.create" in str(action)
    assert {each["name"] for each in described} >= {"q", "group", "actor", "since", "until"}


def test_other_projects_are_not_in_it(client, sign_in):
    other = Project.objects.create(slug="other")
    audit.record(other, audit.COMMAND, "token.create", "k")
    sign_in()
    assert entries(client)["items"] == []


OF_ONE_DATABASE = {
    "sqlite": ["INSERT OR REPLACE INTO {0} SELECT * FROM {0}", "UPDATE OR REPLACE {0} SET id = id"],
    "postgresql": ["TRUNCATE {0}"],
}


@pytest.mark.parametrize(
    "statement",
    ["UPDATE {0} SET actor = 'x'", "DELETE FROM {0}", *OF_ONE_DATABASE[connection.vendor]],
)
def test_no_entry_is_changed_or_deleted(acme, statement):
    audit.record(acme, audit.COMMAND, "token.create", "k")
    with (
        pytest.raises(IntegrityError, match=immutability.AUDIT_SAYS),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement.format(immutability.AUDIT))
    assert AuditEntry.objects.get().actor == ""


def test_an_action_that_fails_leaves_no_entry(acme):
    with transaction.atomic():
        audit.record(acme, audit.COMMAND, "token.create", "k")
        transaction.set_rollback(True)
    assert not AuditEntry.objects.exists()

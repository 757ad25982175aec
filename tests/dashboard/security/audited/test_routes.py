"""Every request that changes something, and every download of a list, has an entry in the audit log."""

from typing import get_args

import pytest

from dashboard.pages.account.throttle import attempts
from recorder.models import AuditEntry, LoopRecord
from recorder.operations.audit import Action
from recorder.operations.audit_actions import ACTIONS, GROUPS
from tests.architecture.tree import ROOT
from tests.dashboard.security.audited import routes
from tests.dashboard.security.audited.actions import ANY, ELSEWHERE, WRITES, WRITES_NONE
from tests.dashboard.security.audited.world import World

LISTS = {"settings/audit": "audit log", "search": "search"}  # where the list is not called as its file


@pytest.fixture(autouse=True)
def no_attempts():
    attempts.clear()


@pytest.fixture
def world(db):
    return World.made()


def test_each_route_that_changes_something_is_listed(db):
    found = routes.changing()
    listed = {*WRITES, *ELSEWHERE, *WRITES_NONE}
    assert found - listed == set(), "new routes: add the entry they write, or why they write none"
    assert listed - found == set(), "routes that are gone"
    assert len(found) > 40


def test_no_route_is_listed_twice():
    assert len({*WRITES, *ELSEWHERE, *WRITES_NONE}) == len(WRITES) + len(ELSEWHERE) + len(WRITES_NONE)


def is_like(found, expected):
    """Compare values; ANY matches any value but null."""
    if expected is ANY:
        return found is not None
    if isinstance(expected, dict):
        same = isinstance(found, dict) and found.keys() == expected.keys()
        return same and all(is_like(found[name], value) for name, value in expected.items())
    return found == expected


@pytest.mark.parametrize("route", WRITES)
@pytest.mark.django_db(transaction=True)
def test_it_writes_one_entry_in_the_name_of_its_user(route):
    world, expected = World.made(), WRITES[route]
    target = expected.drive(world)
    entry = AuditEntry.objects.get(action=expected.action)
    assert (entry.actor_kind, entry.actor, entry.address) == ("user", expected.actor, "127.0.0.1")
    assert entry.project_id == (world.project.pk if expected.has_project else None)
    assert entry.target == target
    assert is_like(entry.before, expected.before), entry.before
    assert is_like(entry.after, expected.after), entry.after


@pytest.mark.parametrize("route", ELSEWHERE)
def test_what_is_driven_elsewhere_is_tested_there(route):
    action, file = ELSEWHERE[route]
    assert f'"{action}"' in (ROOT / file).read_text()


@pytest.mark.parametrize("route", [route for route in WRITES if route.startswith("POST p/")])
def test_what_a_viewer_may_not_do_is_no_entry(world, route):
    world.project.memberships.update(role="viewer")
    world.client.post(routes.path(route.partition(" ")[2]))
    assert not AuditEntry.objects.exists()


def file_routes():
    return sorted(routes.files())


@pytest.mark.parametrize("route", file_routes())
def test_a_download_of_a_list_is_an_entry_with_its_query(world, route):
    address = routes.path(route, pk=world.session.pk)
    query = "q=status:failed" if "search" in route else "since=30d"
    answer = world.client.get(f"{address}?{query}")
    assert answer.status_code == 200
    entry = AuditEntry.objects.get()
    list_name, _, suffix = address.removeprefix("/p/acme/").rpartition(".")
    target = list_name.rpartition("/")[2] if list_name.startswith("sessions/") else list_name
    assert (entry.action, entry.actor, entry.target) == ("export", "ada", LISTS.get(target, target))
    assert entry.after == {"as": suffix, "query": query}


@pytest.mark.parametrize("route", file_routes())
def test_what_is_not_downloaded_is_no_entry(world, route):
    world.client.head(routes.path(route))
    is_file = world.client.get(f"{routes.path(route)}?since=never&q=is:&kind=none").status_code == 200
    world.client.logout()
    world.client.get(routes.path(route))
    assert AuditEntry.objects.count() == int(is_file)


def test_the_lines_of_selected_sessions_and_the_leaderboard_are_downloads_too(world):
    world.client.get(f"/p/acme/sessions/export?of={world.session.pk}")
    world.client.get("/p/acme/leaderboard?format=csv")
    world.client.get("/p/acme/leaderboard")
    found = [(entry.target, entry.after["as"]) for entry in AuditEntry.objects.order_by("pk")]
    assert found == [("recorded lines", "jsonl"), ("leaderboard", "csv")]


def test_the_lines_of_a_session_and_the_document_of_a_loop_are_exports(world):
    session, loop = world.session, LoopRecord.objects.get()
    lines = world.client.get(f"/api/v1/sessions/{session.session_id}/events?project=acme")
    assert b"".join(lines).count(b"\n") > 1
    of_loop = f"/p/acme/sessions/{session.pk}/loops/{loop.pk}/record"
    assert world.client.get(f"{of_loop}?of=phi-core").status_code == 200
    found = AuditEntry.objects.order_by("pk").values_list("action", "actor", "target", "after")
    assert list(found) == [
        ("session.export", "ada", session.session_id, {"as": "ndjson"}),
        ("session.export", "ada", session.session_id, {"as": "phi-core", "loop": loop.loop_id}),
    ]


def test_what_a_stranger_does_not_get_is_no_export(world):
    world.project.memberships.all().delete()
    pk, loop = world.session.pk, LoopRecord.objects.get().pk
    assert world.client.get(f"/p/acme/sessions/{pk}/loops/{loop}/record").status_code == 404
    path = f"/api/v1/sessions/{world.session.session_id}/events?project=acme"
    assert world.client.get(path).status_code == 404
    assert not AuditEntry.objects.exists()


def test_every_action_has_words_a_group_and_a_meaning():
    assert set(ACTIONS) == set(get_args(Action))
    assert {each.group for each in ACTIONS.values()} == set(GROUPS)
    assert len({each.words for each in ACTIONS.values()}) == len(ACTIONS)
    assert all(each.meaning.endswith(".") or each.words == "Signed out" for each in ACTIONS.values())


def test_every_action_of_a_route_exists():
    used = {action for each in WRITES.values() for action in (each.action, *each.also)}
    assert used | {action for action, _ in ELSEWHERE.values()} <= set(ACTIONS)

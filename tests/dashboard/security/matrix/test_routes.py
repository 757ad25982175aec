"""Role, route and method: who gets what answer, what a refused request changes, and whose words it shows."""

import json
import re
from dataclasses import replace

import pytest
from django.db import transaction

from dashboard.pages.registry import PAGES
from recorder.access.rights import RIGHTS, Right
from tests.dashboard.security.matrix.records import nothing_changed, rows_written, tables
from tests.dashboard.security.matrix.routes import METHODS, Case, routes
from tests.dashboard.security.matrix.table import ANYONE, SIGNED_IN, SUPERUSER, TABLE, rows_of

pytestmark = pytest.mark.django_db

TABLE_FILE = "tests/dashboard/security/matrix/table.py"
READING = ("GET", "HEAD")
ANY_PATH = "api/v1/<path:rest>"  # answers 404 to every other path
OUTSIDERS = ("anonymous", "stranger", "revoked token", "expired token")
ROUTES = routes()
CASES = [Case(route, method, row) for route in ROUTES for row in rows_of(route) for method in row.rights]


def named(case):
    return f"{case.method} {case.route or '/'}"


def test_every_route_has_a_row():
    missing = [route for route in ROUTES if route not in TABLE]
    surplus = [route for route in TABLE if route not in ROUTES]

    assert missing == [], f"add a row for each of {missing} to {TABLE_FILE}"
    assert surplus == [], f"remove the rows of {surplus} from {TABLE_FILE}"


def answer(person, case, records, slug="first"):
    """Send the request of a case; return status, location and the whole body."""
    send, sent = getattr(person.client, case.method.lower()), {}
    if case.method not in READING:
        sent = {"data": case.body(records)}
    if sent and case.row.is_json:
        sent = {"data": json.dumps(sent["data"]), "content_type": "application/json"}
    elif sent and case.method != "POST":
        sent = {}
    cookies = person.client.cookies.copy()
    response = send(case.path(records, slug), **sent)
    person.client.cookies = cookies  # what a response sets or deletes is undone, as in the database
    content = b"".join(response.streaming_content) if response.streaming else response.content
    return response.status_code, response.get("Location", ""), content.decode(errors="replace")


def is_api(case):
    return case.route.startswith("api/") or case.route == "metrics"


def may(person, case):
    """Whether the table gives a person the right of a case; pages know no tokens."""
    right = case.row.rights[case.method]
    return person.has(right) and (right == ANYONE or is_api(case) or person.scopes is None)


def expected(person, case):
    """Return the statuses that a person may get."""
    right, row = case.row.rights[case.method], case.row
    if person.name in row.but:
        return {row.but[person.name]}
    if may(person, case):
        return set(row.ok) or ({200} if case.method in READING else {302})
    if right == SIGNED_IN or (not is_api(case) and not person.is_signed_in):
        return {302} if case.route != "notifications/now" else {401}
    if right == SUPERUSER:
        return {404}
    if person.scopes:
        return {403}
    return {401} if not person.is_signed_in else {404 if person.role is None else 403}


@pytest.mark.parametrize("case", CASES, ids=named)
def test_everybody_gets_the_answer_of_the_table(world, case):
    wrong = {}
    for person in world.people:
        is_allowed = may(person, case) or person.name in case.row.but
        with transaction.atomic():
            written, after = rows_written(), None
            status, location, content = answer(person, case, world.first)
            if status not in expected(person, case):
                wrong[person.name] = status, content[:200]
            if not is_allowed and rows_written() != written:
                after = tables()
            transaction.set_rollback(True)
        if after is not None:
            assert after == tables(), f"the refused request of {person.name} changed something"
        if status == 302 and not is_allowed:
            assert location.startswith("/signin?next="), person.name
        if person.name not in ("superuser", "neighbour"):
            assert world.second.word not in content + location, f"{person.name} sees another project"
        if (status == 404 and not is_allowed) or person.name in OUTSIDERS:
            assert world.first.word not in content + location.partition("?")[0], person.name

    assert wrong == {}, f"expected otherwise by {TABLE_FILE}: {case}"


@pytest.mark.parametrize(
    "route",
    # The last route of the API matches every path.
    [route for route in ROUTES if route != ANY_PATH and any(row.rights for row in rows_of(route))],
    ids=lambda route: route or "/",
)
def test_a_method_that_a_route_has_not_is_refused_and_changes_nothing(world, route):
    rows = rows_of(route)
    known = {method for row in rows for method in row.rights}
    with nothing_changed():
        for method in METHODS:
            if method in known or (method == "HEAD" and route.startswith("api/")):
                continue
            for name in ("anonymous", "viewer", "superuser", "token of both"):
                status, _, content = answer(world.person(name), Case(route, method, rows[0]), world.first)
                assert status == 405, (name, method)
                assert name == "superuser" or world.second.word not in content


OF_RECORDS = [case for case in CASES if case.names_records]
BY_TOKEN = [case for case in OF_RECORDS if is_api(case) and RIGHTS[case.row.rights[case.method]].scopes]


@pytest.mark.parametrize(
    ("name", "case"),
    [*(("admin", case) for case in OF_RECORDS), *(("token of both", case) for case in BY_TOKEN)],
    ids=lambda value: value if isinstance(value, str) else named(value),
)
def test_records_of_another_project_are_not_found(world, name, case):
    with nothing_changed():
        status, location, content = answer(world.person(name), case, world.second)
    for sent in map(str, world.second.names.values()):
        if world.second.word in sent:
            content = content.replace(sent, "")  # an answer may repeat what the request named

    assert world.second.word not in content + location.partition("?")[0]
    assert status in {302, 400, 404} if case.method == "POST" else status == 404


def test_every_right_is_tried():
    tried = {right for case in CASES for right in case.row.rights.values()} - {ANYONE, SIGNED_IN, SUPERUSER}

    assert set(Right) - tried == {Right.INGEST}


@pytest.mark.parametrize("name", ["viewer", "member", "admin", "superuser"])
def test_every_command_of_the_palette_leads_to_a_page_that_the_person_may_open(world, name):
    client = world.person(name).client
    html = client.get("/p/first/find").content.decode()
    paths = set(re.findall(r'href="(/p/first/[^"#]*)', html))

    assert len(paths) > 10
    assert {path: client.get(path).status_code for path in paths} == dict.fromkeys(paths, 200)


def test_a_command_is_offered_to_those_who_have_the_right_of_its_page(world, monkeypatch):
    pages = [replace(page, right=Right.READ_AUDIT) if page.name == "costs" else page for page in PAGES]
    monkeypatch.setattr("dashboard.pages.registry.PAGES", tuple(pages))
    offered = {}
    for name in ("viewer", "member", "admin", "superuser"):
        results = world.person(name).client.get("/p/first/find", headers={"hx-request": "true"})
        offered[name] = "Go to costs" in results.content.decode()

    assert offered == {"viewer": False, "member": False, "admin": True, "superuser": True}

"""The page of the audit log: who may read it, its rows, filters, pages and files."""

import csv
import io
import json
import re
from datetime import timedelta
from html import unescape
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from recorder.access import profiles, tokens
from recorder.models import AuditEntry, Project
from recorder.operations import audit, audit_retention
from recorder.operations.audit import Actor
from recorder.operations.people import project_deletion

PAGE = "/p/acme/settings/audit"
FILES = (f"{PAGE}.csv", f"{PAGE}.ndjson")
MARKUP = '"><img src=x onerror=alert(1)>'
FORMULA = "=HYPERLINK(1)"
ADA = Actor("user", "ada", "10.0.0.1")


def text_of(html):
    """Return the text of the page's main part, one space between words."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html.split("<main")[1])).split())


def keys_of(html):
    return [int(pk) for pk in re.findall(r'id="entry-(\d+)"', html)]


def shown(client, query=""):
    answer = client.get(PAGE + query)
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.parametrize("path", [PAGE, *FILES])
@pytest.mark.parametrize(("role", "status"), [("", 404), ("viewer", 403), ("member", 403), ("admin", 200)])
def test_admins_alone_read_it(sign_in, path, role, status):
    assert sign_in(role).get(path).status_code == status


def test_a_visitor_is_sent_to_the_sign_in_page(client, acme):
    assert client.get(PAGE)["Location"].startswith("/signin?")


def test_the_settings_link_to_it_for_admins_only(sign_in):
    assert f'href="{PAGE}"' in sign_in("admin").get("/p/acme/settings").content.decode()
    assert f'href="{PAGE}' not in sign_in("member", "bob").get("/p/acme/settings").content.decode()


def test_a_row_has_actor_action_target_change_and_address(admin, acme):
    audit.record(acme, ADA, "retention.change", "acme", before=30, after=None)
    text = text_of(shown(admin))
    assert "ada Retention changed acme 30 → forever 10.0.0.1" in text
    assert f"Today, {timezone.now():%-d %B %Y}" in text


@pytest.mark.parametrize(
    "zone", ["Pacific/Kiritimati", "Etc/GMT+12"]
)  # at any time one has not the day of UTC
def test_times_and_days_are_in_the_time_zone_of_the_profile(admin, acme, zone):
    user = User.objects.get(username="ada")
    profiles.set_time_zone(user, zone)
    admin.force_login(user)
    audit.record(acme, ADA, "retention.change", "acme", before=30, after=None)
    at = AuditEntry.objects.get(action="retention.change").at.astimezone(ZoneInfo(zone))
    text = text_of(shown(admin))
    assert f"Time, {zone}" in text
    assert f"Today, {at:%-d %B %Y} {at:%H:%M:%S} A ada Retention changed" in text


def test_times_are_in_utc_without_a_time_zone_of_the_profile(admin, acme):
    audit.record(acme, ADA, "retention.change", "acme", before=30, after=None)
    text = text_of(shown(admin))
    assert "Time, UTC" in text
    assert f"{AuditEntry.objects.get(action='retention.change').at:%H:%M:%S}" in text


def test_of_objects_only_the_changed_fields_are_shown(admin, acme):
    audit.record(
        acme, ADA, "score.change", "s", before={"most": 1.0, "least": 0}, after={"most": 5, "least": 0}
    )
    assert "most 1 → most 5" in text_of(shown(admin))


def test_a_token_has_its_name_and_a_command_its_own(admin, acme):
    key = tokens.key_of(tokens.issue(acme, "grafana", ["read"]))
    audit.record(acme, Actor("token", key, "10.0.0.2"), "session.export", "s1", after={"as": "otlp"})
    audit.record(acme, audit.command("prune"), "retention.prune", "acme", after={"lines": 4})
    text = text_of(shown(admin))
    assert "grafana Session exported s1 as otlp 10.0.0.2" in text
    assert "prune Content pruned acme lines 4 command" in text
    assert len(keys_of(shown(admin, "?q=graf"))) == 1


def test_an_unknown_action_still_shows(admin, acme):
    AuditEntry.objects.create(
        project=acme, at=timezone.now(), actor_kind="user", actor="ada", action="share_link.open", target="t"
    )
    assert "Share link open" in text_of(shown(admin))
    assert keys_of(shown(admin, "?action=share_link.open"))
    assert keys_of(shown(admin, "?group=data")) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_hostile_text_stays_text(admin, acme, theme):
    admin.cookies["theme"] = theme
    audit.record(
        acme, Actor("user", MARKUP, MARKUP), "project.rename", MARKUP, before=MARKUP, after={MARKUP: MARKUP}
    )
    for query in ("", f"?q={MARKUP}", f"?actor={MARKUP}&action={MARKUP}&group={MARKUP}&since={MARKUP}"):
        html = shown(admin, query)
        assert "<img" not in html
        assert unescape(html).count(MARKUP) > 1


def test_the_newest_is_first_and_pages_follow_one_another(admin, acme):
    for number in range(120):
        audit.record(acme, ADA, "session.pin", f"s{number}")
    keys = sorted(AuditEntry.objects.values_list("pk", flat=True), reverse=True)
    found, query = [], ""
    while True:
        html = shown(admin, query)
        found += keys_of(html)
        older = re.search(r'href="(\?[^"]*)" rel="next"', html)
        if not older:
            break
        query = unescape(older[1])
    assert found == keys
    newer = unescape(re.search(r'href="(\?[^"]*)" rel="prev"', html)[1])
    assert keys_of(shown(admin, newer)) == keys[50:100]


def test_it_costs_the_same_however_long_it_is(admin, acme, django_assert_max_num_queries):
    for number in range(60):
        audit.record(acme, Actor("token", f"k{number}"), "session.export", "s")
    with django_assert_max_num_queries(25):
        shown(admin)


@pytest.mark.parametrize(
    ("query", "targets"),
    [
        ("", ["pin", "ci", "link"]),
        ("?group=signins", ["link"]),
        ("?group=access", ["ci"]),
        ("?group=data", ["pin"]),
        ("?actor=ada", ["pin", "link"]),
        ("?actor=ada&actor=bob", ["pin", "ci", "link"]),
        ("?action=token.create&action=signin", ["ci", "link"]),
        ("?q=10.0.0.7", ["ci"]),
        ("?q=ADA+pin", ["pin"]),
        ("?q=nothing", []),
        ("?since=24h", ["pin", "ci", "link"]),
        ("?until=2001-01-01", []),
        ("?actor=ada&group=data&q=pi", ["pin"]),
    ],
)
def test_filters_select_the_same_rows_on_the_page_and_in_files(admin, acme, query, targets):
    audit.record(None, ADA, "signin", "link")
    audit.record(acme, Actor("user", "bob", "10.0.0.7"), "token.create", "ci")
    audit.record(acme, ADA, "session.pin", "pin")
    html = shown(admin, query)
    assert len(keys_of(html)) == len(targets)
    by_target = {target: pk for pk, target in AuditEntry.objects.values_list("pk", "target")}
    assert keys_of(html) == [by_target[target] for target in targets]
    lines = b"".join(admin.get(f"{PAGE}.ndjson{query}")).decode().splitlines()
    assert [json.loads(line)["target"] for line in lines] == targets


def test_an_empty_log_and_an_empty_selection_say_so(admin):
    assert "No entries yet." in text_of(shown(admin))
    html = shown(admin, "?q=nothing")
    assert "No matching entries." in text_of(html)
    assert f'href="{PAGE}">Clear the filters' in html


def test_an_invalid_filter_is_ignored_with_a_note_and_refused_for_a_file(admin):
    assert "Ignored since" in text_of(shown(admin, "?since=never"))
    assert "Ignored group" in text_of(shown(admin, "?group=never"))
    assert admin.get(f"{PAGE}.csv?since=never").status_code == 400


def test_files_have_the_fields_of_the_api(admin, acme):
    audit.record(
        acme, Actor("user", FORMULA, "10.0.0.1"), "project.rename", "ä", before={"a": [1]}, after=None
    )
    api = admin.get("/api/v1/audit", {"project": "acme"}).json()["items"]
    rows = list(csv.DictReader(io.StringIO(b"".join(admin.get(FILES[0])).decode())))
    lines = [json.loads(line) for line in b"".join(admin.get(FILES[1])).decode().splitlines()]
    assert lines[1:] == api
    assert lines[0]["action"] == "export"  # of the file before
    assert list(rows[0]) == list(api[0])
    assert (rows[0]["actor"], rows[0]["target"], rows[0]["before"], rows[0]["after"]) == (
        f"'{FORMULA}", "ä", '{"a": [1]}', ""
    )  # fmt: skip


def test_a_long_log_is_downloaded_whole_and_once(admin, acme):
    for number in range(450):
        audit.record(acme, ADA, "session.pin", f"s{number}")
    lines = [json.loads(line)["target"] for line in b"".join(admin.get(FILES[1])).decode().splitlines()]
    assert lines == [f"s{number}" for number in reversed(range(450))]
    entry = AuditEntry.objects.get(action="export")
    assert (entry.actor, entry.target, entry.after) == ("ada", "audit log", {"as": "ndjson", "query": ""})


def test_another_project_and_other_people_are_not_in_it(admin):
    audit.record(Project.objects.create(slug="other"), ADA, "session.pin", "secret-1")
    audit.record(None, Actor("unknown", "stranger"), "signin.refused", "secret-2")
    audit.record(None, audit.command("signin_link"), "signin.link", "somebody")
    audit.record(None, audit.command("signin_link"), "signin.link", "ada")
    html = shown(admin)
    assert "secret" not in html
    assert "somebody" not in html
    assert len(keys_of(html)) == 1


def test_a_link_that_a_superuser_made_for_a_member_is_in_it(admin):
    audit.record(None, Actor("user", "root"), "signin.link", "ada")
    assert len(keys_of(shown(admin))) == 1


def test_a_superuser_sees_who_tried_to_sign_in_under_an_unknown_name(sign_in):
    audit.record(None, Actor("unknown", "stranger"), "signin.refused", "password")
    root = sign_in("", "root", is_superuser=True)
    assert "stranger" in shown(root)
    assert root.get("/api/v1/audit", {"project": "acme"}).json()["total"] == 1


def test_it_shows_the_retention_of_entries(admin, acme):
    assert "Entries are kept forever. Retention" in text_of(shown(admin))
    admin.post("/p/acme/settings/retention", {"kind": "audit", "days": "730"})
    html = shown(admin)
    assert "Entries are kept for 730 days." in text_of(html)
    assert "forever → 730" in text_of(html)


def test_a_pruned_log_says_what_is_gone(admin, acme):
    AuditEntry.objects.create(
        project=acme,
        at=timezone.now() - timedelta(days=500),
        actor_kind="user",
        action="signin",
        actor="x",
    )
    preview = admin.post("/p/acme/settings/retention", {"kind": "audit", "days": "365"})
    assert "1 entry, the oldest of" in text_of(preview.content.decode())
    admin.post("/p/acme/settings/retention", {"kind": "audit", "days": "365", "confirm": "acme"})
    acme.refresh_from_db()
    audit_retention.prune(acme, timezone.now(), audit.command("prune"))
    assert re.search(r"prune Audit log pruned acme .*entries 1", text_of(shown(admin)))
    assert not User.objects.filter(username="x").exists()


def test_superusers_read_the_entries_of_deleted_projects(admin, sign_in, acme):
    gone = Project.objects.create(slug="gone")
    project_deletion.finish(project_deletion.begin(gone, ADA))
    assert "Project deleted" not in shown(admin)
    root = sign_in("", "root", is_superuser=True)
    assert "Project deleted gone" in text_of(shown(root))
    (found,) = root.get("/api/v1/audit", {"project": "acme"}).json()["items"]
    assert (found["action"], found["project"]) == ("project.delete", "gone")

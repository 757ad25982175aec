"""Making, listing and revoking links: by whom, shown once, in the audit log."""

import re

import pytest
from django.test import Client

from recorder.models import AuditEntry, LoopRecord, Session, ShareLink

pytestmark = pytest.mark.django_db(transaction=True)
LINK = re.compile(r"http://testserver(/s/[A-Za-z0-9_-]{43})<")


def made(person, path, **fields):
    """Make a link with the form; return its path."""
    return LINK.search(person.post(path, 201, hours="24", masked="1", **fields))[1]


def test_a_member_makes_a_link_that_is_shown_once(session, person):
    member = person("member")
    path = f"share/session?of={session.pk}"
    assert "No links." in member.get(path)
    shown = member.post(path, 201, hours="24", masked="1", password="sesame", notes="1")
    link = LINK.search(shown)[1]
    assert f'href="http://testserver{link}"' in shown, "the preview"
    assert Client().post(link, {"password": "sesame"}).status_code == 302
    found = ShareLink.objects.get()
    assert (found.kind, found.target, found.has_notes, found.is_masked, found.event) == (
        *("session", session.pk, True, True),
        None,
    )
    assert (found.expires_at - found.created_at).total_seconds() == 24 * 3_600
    again = member.get(path)
    assert link not in again
    assert "By you" in again
    assert "opened 1 time" in again
    answer = member.client.get(f"/p/default/{path}")
    assert "no-store" in answer["Cache-Control"]


def test_a_frozen_link_is_as_of_the_newest_event(session, person):
    made(person("member"), f"share/session?of={session.pk}", frozen="1")
    newest = session.eventrecord_set.order_by("pk").last()
    assert ShareLink.objects.get().event == newest.pk


@pytest.mark.parametrize("hours", ["", "0", "100000", "-1", "x", "1e9"])
def test_an_unknown_lifetime_is_seven_days(session, person, hours):
    person("member").post(f"share/session?of={session.pk}", 201, hours=hours)
    found = ShareLink.objects.get()
    assert (found.expires_at - found.created_at).days == 7
    assert not found.is_masked


def test_making_and_revoking_are_entries_without_the_secret(session, person):
    member = person("member")
    link = made(member, f"share/session?of={session.pk}", password="sesame")
    pk = ShareLink.objects.get().pk
    member.post(f"share/links/{pk}/revoke", 302)
    member.post(f"share/links/{pk}/revoke", 302)
    create, revoke = AuditEntry.objects.order_by("pk")
    assert (create.action, create.target, create.actor) == (
        *("share.create", "session shared"),
        member.user.get_username(),
    )
    assert create.after["link"] == pk
    assert create.after["password"] is True
    assert (revoke.action, revoke.after) == ("share.revoke", {"link": pk})
    entries = str(list(AuditEntry.objects.values()))
    assert link.removeprefix("/s/") not in entries
    assert "sesame" not in entries
    assert Client().get(link).status_code == 404


@pytest.mark.parametrize(("role", "status"), [("viewer", 403), ("stranger", 404)])
def test_who_may_not_write_makes_sees_and_revokes_no_link(session, share, person, role, status):
    share("session", session.pk)
    someone = person("someone", role)
    someone.get(f"share/session?of={session.pk}", status)
    someone.get("share", status)
    someone.post(f"share/session?of={session.pk}", status)
    someone.post(f"share/links/{share.link.pk}/revoke", status)
    assert ShareLink.objects.get().revoked_at is None
    assert Client().get("/p/default/share").status_code == 302


@pytest.mark.parametrize(("role", "may"), [("member", False), ("admin", True), ("superuser", True)])
def test_members_revoke_their_own_links_and_admins_all(session, share, person, role, may):
    path = share("session", session.pk)
    someone = person("someone", role)
    page = someone.get(f"share/session?of={session.pk}")
    assert ("Revoke" in page.partition("Links to this")[2]) == may
    assert share.maker.user.get_username() in page
    someone.get("share", 200 if may else 403)
    someone.post(f"share/links/{share.link.pk}/revoke", 302 if may else 403)
    assert (Client().get(path).status_code == 404) == may
    share.maker.post(f"share/links/{share.link.pk}/revoke", 302)
    assert Client().get(path).status_code == 404


def test_admins_see_all_links_of_their_project_only(session, share, person, group, django_assert_num_queries):
    for kind, pk in (("session", session.pk), ("evaluation", group), ("session", session.pk)):
        share(kind, pk)
    share.maker.post(f"share/links/{share.link.pk}/revoke", 302)
    page = person("admin", "admin").get("share")
    assert page.count(session.title) >= 2
    assert f"Evaluation {group}" in page
    assert "revoked" in page


def test_records_of_other_projects_and_unknown_ones_are_not_shared(session, person, project):
    member = person("member")
    loops = [str(pk) for pk in LoopRecord.objects.values_list("pk", flat=True)]
    for path in (
        *("share/session", "share/session?of=999999", "share/session?of=x", "share/nonsense?of=1"),
        *("share/evaluation?of=999999", f"share/session?of={session.pk}&of=1", "share/view?of=1"),
        *(f"share/comparison?of={session.pk}", f"share/comparison?in={session.pk}&of={'&of='.join(loops)}"),
        f"share/session?of={'9' * 30}",
    ):
        member.post(path, 404)
    Session.objects.filter(pk=session.pk).update(project=type(project).objects.create(slug="other"))
    member.post(f"share/session?of={session.pk}", 404)
    assert not ShareLink.objects.exists()


def test_the_button_is_for_members(session, group, person):
    member, viewer = person("member"), person("viewer", "viewer")
    for path, link in (
        (f"sessions/{session.pk}", f"/p/default/share/session?of={session.pk}"),
        (f"evaluations/{group}", f"/p/default/share/evaluation?of={group}"),
    ):
        assert f'href="{link}"' in member.get(path)
        assert "data-share" not in viewer.get(path)


def test_htmx_gets_the_dialog_with_forms_that_stay_in_it(session, person):
    member = person("member")
    path, headers = f"/p/default/share/session?of={session.pk}", {"HX-Request": "true"}
    html = member.client.post(path, {"hours": "1"}, headers=headers).content.decode()
    assert "<html" not in html
    assert html.count('hx-target="#share-dialog"') == 2
    revoke = f"/p/default/share/links/{ShareLink.objects.get().pk}/revoke"
    answer = member.client.post(revoke, headers=headers)
    assert (answer.status_code, "No links." in answer.content.decode()) == (200, True)


def test_after_revoking_a_browser_is_sent_to_no_other_site(session, share):
    share("session", session.pk)
    path = f"/p/default/share/links/{share.link.pk}/revoke"
    answer = share.maker.client.post(path, {"next": "https://evil.test/"})
    assert answer["Location"] == "/"

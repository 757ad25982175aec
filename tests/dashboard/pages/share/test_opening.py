"""Openings of a link: counted once for a browser, with a password that is limited, in the audit log."""

from datetime import timedelta
from html import unescape

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.pages.share import opening
from dashboard.security import attempts as counts
from recorder.access import share_links
from recorder.models import AuditEntry, ShareLink
from tests.dashboard.pages.share.conftest import crawl

pytestmark = pytest.mark.django_db(transaction=True)


def actions():
    return list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))


def test_a_browser_is_counted_once_whatever_it_opens_below_the_link(session, share):
    path = share("session", session.pk)
    crawl(path)
    assert ShareLink.objects.get().openings == 1
    Client().get(f"{path}/sessions/{session.pk}")
    found = ShareLink.objects.get()
    assert found.openings == 2
    assert found.opened_at is not None
    assert actions() == ["share.open"], "the second opening is from the same address"


def test_an_opening_is_an_entry_with_the_link_the_address_and_the_signed_in_user(session, share, person):
    path, reader = share("session", session.pk), person("reader")
    Client().get(path, REMOTE_ADDR="10.0.0.7")
    reader.client.get(path, REMOTE_ADDR="10.0.0.7")
    first, second = AuditEntry.objects.order_by("pk")
    assert (first.actor_kind, first.address, first.target) == ("unknown", "10.0.0.7", "session shared")
    assert first.after == {"link": share.link.pk, "openings": 1}
    assert (second.actor_kind, second.actor) == ("user", reader.user.get_username())
    assert second.after == {"link": share.link.pk, "openings": 2}
    assert path.removeprefix("/s/") not in str(AuditEntry.objects.values())


def test_a_reader_without_a_cookie_does_not_fill_the_audit_log(session, share, monkeypatch):
    monkeypatch.setattr(share_links, "NOTED_MOST", 3)
    path = share("session", session.pk)
    for n in range(12):  # two requests from each of six networks
        assert Client().get(path, REMOTE_ADDR=f"2001:db8:0:{n // 2}::{n}").status_code == 200
    assert ShareLink.objects.get().openings == 12
    assert [entry.after["openings"] for entry in AuditEntry.objects.order_by("pk")] == [1, 3, 5]


def test_who_made_a_link_sees_the_page_and_is_not_counted(session, share, person):
    path = share("session", session.pk, password="sesame")
    maker = share.maker.client
    assert "asks for a password" in maker.get(path).content.decode()
    assert maker.post(path, {"password": "sesame"}).status_code == 302
    assert "Shared until" in maker.get(path).content.decode()
    assert ShareLink.objects.get().openings == 0
    assert actions() == []
    person("other").client.post(path, {"password": "sesame"})
    assert ShareLink.objects.get().openings == 1
    assert actions() == ["share.open"]


def test_a_password_is_required_before_anything_is_sent(session, share):
    path = share("session", session.pk, password="sesame")
    client = Client()
    inside = f"{path}/sessions/{session.pk}"
    for at in (path, inside, f"{path}/events/{session.eventrecord_set.first().pk}/text"):
        html = client.get(at).content.decode()
        assert "asks for a password" in html
        assert session.title not in unescape(html)
        assert f'action="{path}"' in html
    assert ShareLink.objects.get().openings == 0
    assert client.post(path, {"password": "wrong"}).status_code == 403
    assert actions() == []

    answer = client.post(path, {"password": "sesame"})
    assert (answer.status_code, answer["Location"]) == (302, path)
    words = session.title.partition("org, ")[2].partition(" See")[0]
    shown = unescape(client.get(inside).content.decode())
    assert words in shown
    assert "ada@example.org" not in shown, "the rule of e-mail addresses masks, which is off when recording"
    assert "[masked:email:" in shown
    assert actions() == ["share.open"]


def test_the_cookie_of_an_opening_is_sent_to_the_link_only_and_opens_no_other(session, share):
    one = share("session", session.pk, password="sesame")
    other = share("session", session.pk, password="sesame")
    client = Client()
    client.post(one, {"password": "sesame"})
    cookie = client.cookies[opening.COOKIE]
    assert (cookie["path"], cookie["httponly"], cookie["samesite"]) == (one, True, "Lax")
    stranger = Client()
    stranger.cookies[opening.COOKIE] = cookie.value
    assert "asks for a password" in stranger.get(other).content.decode()
    stranger.cookies[opening.COOKIE] = cookie.value[:-1] + ("A" if cookie.value[-1] != "A" else "B")
    assert "asks for a password" in stranger.get(one).content.decode()


def test_wrong_passwords_are_limited_by_address_and_in_all(session, share, monkeypatch):
    path = share("session", session.pk, password="sesame")
    client = Client()
    tried = [client.post(path, {"password": "wrong"}).status_code for _ in range(opening.TRIES + 1)]
    assert tried == [403] * opening.TRIES + [429]
    refused = client.post(path, {"password": "sesame"})
    assert (refused.status_code, refused["Retry-After"]) == (429, "600")
    other = Client(REMOTE_ADDR="10.0.0.2")
    assert other.post(path, {"password": "sesame"}).status_code == 302

    monkeypatch.setattr(opening, "LINK_TRIES", opening.TRIES + 3)
    last = [Client(REMOTE_ADDR=f"10.0.1.{n}").post(path, {"password": "x"}).status_code for n in range(4)]
    assert last == [403, 403, 429, 429]


def test_attempts_are_allowed_again_after_ten_minutes(session, share, monkeypatch):
    monkeypatch.setattr(opening.attempts, "_shared", None)  # Redis has a clock of its own
    clock = [100.0]
    monkeypatch.setattr(counts, "monotonic", lambda: clock[0])
    path = share("session", session.pk, password="sesame")
    for _ in range(opening.TRIES + 1):
        Client().post(path, {"password": "wrong"})
    assert Client().post(path, {"password": "sesame"}).status_code == 429
    clock[0] += opening.WINDOW_S
    assert Client().post(path, {"password": "sesame"}).status_code == 302


def test_an_opening_ends_with_the_link(session, share):
    path = share("session", session.pk, password="sesame")
    client = Client()
    client.post(path, {"password": "sesame"})
    ShareLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert client.get(path).status_code == 404
    assert client.post(path, {"password": "sesame"}).status_code == 404


def test_a_link_ends_with_its_session(session, share):
    path = share("session", session.pk)
    assert Client().get(path).status_code == 200
    session.delete()
    assert Client().get(path).status_code == 404


def test_the_theme_is_stored_and_the_page_shown_again(session, share):
    path = share("session", session.pk)
    client = Client(enforce_csrf_checks=True)
    answer = client.post(f"{path}/theme", {"theme": "dark", "next": "/p/default/"})
    assert (answer.status_code, answer["Location"]) == (302, path)
    assert 'data-theme="dark"' in client.get(path).content.decode()

"""Invites by e-mail: sent by a mail server, plain text, one recipient, and never in the way of the link."""

import socket

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from dashboard.pages.people import views
from recorder.models import AuditEntry, Invite
from recorder.operations.people import invite_mail
from recorder.operations.people.mail_server import MailServer
from tests.dashboard.pages.people.smtp_server import SmtpServer
from tests.dashboard.pages.people.test_invites import PAGE, link_in

TO = "carol@example.org"
pytestmark = pytest.mark.django_db(transaction=True)


def use(settings, port, user="", password="", *, is_tls=False, host="127.0.0.1"):
    settings.LOOPSCOPE_SMTP = MailServer(host, port, user, password, is_tls)
    settings.LOOPSCOPE_SMTP_FROM = "loopscope@example.org"


@pytest.fixture(autouse=True)
def no_mails_before():
    views.mails.clear()


@pytest.fixture
def mail(settings):
    server = SmtpServer()
    use(settings, server.port)
    yield server
    server.stop()


def invite_by_mail(admin, **form):
    return admin.post(PAGE, {"role": "member", "email": TO, "mail": "on", **form})


def text_of(answer):
    return " ".join(answer.content.decode().split())


def last_entry():
    return AuditEntry.objects.order_by("-pk").values("action", "target", "after", "actor").first()


def test_without_a_mail_server_nothing_is_offered_and_nothing_is_sent(admin, monkeypatch):
    monkeypatch.setattr(socket, "create_connection", None)
    assert "by e-mail" not in text_of(admin.get(PAGE))
    assert "Loopscope sent no e-mail" in text_of(invite_by_mail(admin))
    assert last_entry()["action"] == "invite.create"


def test_an_invite_is_sent_as_plain_text_with_its_link_and_terms(admin, acme, mail):
    acme.title = "Acme agents"
    acme.save()
    admin.user.first_name = "Mira Müller"
    admin.user.save()
    answer = invite_by_mail(admin)

    assert "It was sent by e-mail." in text_of(answer)
    (message,) = mail.messages
    assert mail.recipients == [TO]
    assert (message["To"], message["From"]) == (TO, "Loopscope <loopscope@example.org>")
    assert message["Subject"] == "Invite to Acme agents on Loopscope"
    assert message.get_content_type() == "text/plain"
    text = message.get_content()
    assert "Mira Müller invites you to the project Acme agents on Loopscope, as member." in text
    assert f"until {Invite.objects.get().expires_at:%d %B %Y, %H:%M} UTC." in text
    link = next(line for line in text.splitlines() if line.startswith("http://testserver/join/"))
    assert link.endswith(link_in(answer))
    assert Client().get(link.removeprefix("http://testserver")).status_code == 200
    assert last_entry() == {"action": "invite.mail", "target": TO, "after": "sent", "actor": "mira"}


def test_it_is_sent_only_when_the_form_requests_it_and_has_an_address(admin, mail):
    admin.post(PAGE, {"role": "member", "email": TO})
    admin.post(PAGE, {"role": "member", "mail": "on"})
    assert mail.messages == []


def test_a_renewed_invite_can_be_sent_again(admin, mail):
    invite_by_mail(admin)
    renew = reverse("people-renew", args=["acme", Invite.objects.get().pk])
    assert "Send a new link" in text_of(admin.get(PAGE))
    admin.post(renew)
    assert len(mail.messages) == 1
    answer = admin.post(renew, {"mail": "1"})
    assert link_in(answer) in mail.messages[1].get_content()


def test_names_add_no_header_and_no_recipient(admin, acme, mail):
    acme.title = "Acme\r\nBcc: eve@example.org\n\nHello"
    acme.save()
    admin.user.first_name = "Mira\nBcc: eve@example.org"
    admin.user.save()
    invite_by_mail(admin)

    (message,) = mail.messages
    assert message["Bcc"] is None
    assert mail.recipients == [TO]
    assert message["Subject"] == "Invite to Acme Bcc: eve@example.org Hello on Loopscope"
    for address in ("carol@example.org\r\nBcc: eve@example.org", "carol@example.org, eve@example.org"):
        assert invite_by_mail(admin, email=address).status_code == 400
    assert len(mail.messages) == 1


@pytest.mark.parametrize(
    ("refuses", "why"),
    [
        ("RCPT", "the mail server refused the address"),
        ("MAIL", "the mail server answered with error 550"),
        ("DATA", "the mail server answered with error 550"),
    ],
)
def test_a_refused_message_is_shown_beside_the_link_and_audited(admin, mail, refuses, why):
    mail.refuses = refuses
    answer = invite_by_mail(admin)

    assert answer.status_code == 200
    assert f"No e-mail was sent: {why}. Pass the link on yourself." in text_of(answer)
    assert Client().get(link_in(answer)).status_code == 200
    assert last_entry()["after"] == why


def test_a_server_that_is_silent_or_away_ends_in_time(admin, settings, mail, monkeypatch):
    monkeypatch.setattr(invite_mail, "WAIT_S", 0.2)
    mail.is_silent = True
    assert "did not answer in time" in text_of(invite_by_mail(admin))

    monkeypatch.setattr(invite_mail, "WAIT_S", 30.0)
    monkeypatch.setattr(invite_mail, "LIMIT_S", 0.2)
    assert "No e-mail was sent: the mail server" in text_of(invite_by_mail(admin))

    use(settings, 1)
    assert "the mail server cannot be reached" in text_of(invite_by_mail(admin))


def test_a_password_is_sent_and_a_wrong_one_is_shown(admin, settings):
    server = SmtpServer(login=("ada", "right"))
    use(settings, server.port, "ada", "right")
    assert "It was sent by e-mail." in text_of(invite_by_mail(admin))
    use(settings, server.port, "ada", "wrong")
    assert "refused the user or the password" in text_of(invite_by_mail(admin))
    server.stop()


def test_a_password_leaves_the_machine_with_tls_only(admin, settings, mail, monkeypatch):
    here, connect = ("127.0.0.1", mail.port), socket.create_connection
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: connect(here))
    use(settings, 25, "ada", "secret", host="mail.example.org")
    assert "offers no TLS" in text_of(invite_by_mail(admin))
    use(settings, 465, "ada", "secret", host="mail.example.org", is_tls=True)
    assert "does not speak TLS" in text_of(invite_by_mail(admin))
    assert mail.messages == []


def test_it_is_sent_after_the_invite_is_committed(admin, mail, monkeypatch):
    deliver, inside = invite_mail._deliver, []

    def noted(*args):
        inside.append((connection.in_atomic_block, Invite.objects.count()))
        deliver(*args)

    monkeypatch.setattr(invite_mail, "_deliver", noted)
    invite_by_mail(admin)
    assert inside == [(False, 1)]


def test_mails_of_a_project_are_limited(admin, mail, monkeypatch):
    monkeypatch.setattr(views, "MAILS", 2)
    answers = [text_of(invite_by_mail(admin)) for _ in range(3)]
    assert len(mail.messages) == 2
    assert "No e-mail was sent: this project sent" in answers[2]

"""Invites by e-mail: plain text, sent by the server of `LOOPSCOPE_SMTP_URL` after the invite is committed.

Sending ends after `LIMIT_S` at the latest. Each try is in the audit log, with the reason if it failed.
"""

from __future__ import annotations

import smtplib
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from email.message import EmailMessage
from email.utils import formataddr, make_msgid
from threading import Timer
from typing import TYPE_CHECKING

from django.conf import settings

from recorder.core.content.text import clean
from recorder.operations import audit

if TYPE_CHECKING:
    from recorder.models import Invite
    from recorder.operations.audit import Actor
    from recorder.operations.people.mail_server import MailServer

WAIT_S = 5.0  # for one answer of the server
LIMIT_S = 15.0  # for all of it
NAME_CHARS = 200
REASONS: Mapping[type[Exception], str] = {  # the first that fits
    smtplib.SMTPAuthenticationError: "the mail server refused the user or the password",
    smtplib.SMTPRecipientsRefused: "the mail server refused the address",
    smtplib.SMTPNotSupportedError: "the mail server offers no TLS or no sign-in",
    smtplib.SMTPResponseException: "the mail server answered with error {code}",
    smtplib.SMTPException: "the mail server did not answer in time, or ended the connection",
    ssl.SSLError: "the mail server has no valid certificate, or does not speak TLS",
    TimeoutError: "the mail server did not answer in time",
    OSError: "the mail server cannot be reached",
    UnicodeError: "the address cannot be written in a message",
}
FAULTS = tuple(REASONS)


def is_possible() -> bool:
    """Return whether a mail server is set."""
    return settings.LOOPSCOPE_SMTP is not None


def send(invite: Invite, link: str, actor: Actor) -> str:
    """Send the link to the address of the invite; return why it failed, "" if the server took it.

    Call it outside of a transaction: it waits for another server.
    """
    server = settings.LOOPSCOPE_SMTP
    if server is None:
        return "no mail server is set"
    try:
        _deliver(server, _message(invite, link))
        problem = ""
    except FAULTS as error:
        problem = _reason(error)
    audit.record(invite.project, actor, "invite.mail", invite.email, after=problem or "sent")
    return problem


def _message(invite: Invite, link: str) -> EmailMessage:
    """Return the message. Names are on one line: a header cannot be added to by a project or a person."""
    project, sender = _line(str(invite.project)), settings.LOOPSCOPE_SMTP_FROM
    inviter = _line(invite.made_by.get_full_name() or invite.made_by.get_username()) if invite.made_by else ""
    local, _, domain = invite.email.rpartition("@")
    message = EmailMessage()
    message["Subject"] = f"Invite to {project} on Loopscope"
    message["From"] = formataddr(("Loopscope", sender))
    message["To"] = f"{local}@{domain.encode('idna').decode()}"
    message["Message-ID"] = make_msgid(domain=sender.rpartition("@")[2])
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(
        f"{f'{inviter} invites you' if inviter else 'You are invited'} to the project {project} "
        f"on Loopscope, as {invite.role}.\n\n"
        f"Open this link to join. It works once, until {invite.expires_at:%d %B %Y, %H:%M} UTC.\n\n"
        f"{link}\n\n"
        "If you expected no invite, ignore this message: nothing happens until the link is used.\n"
    )
    return message


def _deliver(server: MailServer, message: EmailMessage) -> None:
    context = ssl.create_default_context()
    name = settings.LOOPSCOPE_SMTP_FROM.rpartition("@")[2]  # a look-up of this host's name may take long
    with _connection(server, name, context) as smtp, _deadline(smtp):
        smtp.ehlo()
        if not server.is_tls and (server.needs_tls or smtp.has_extn("starttls")):
            smtp.starttls(context=context)
        if server.user:
            smtp.login(server.user, server.password)
        smtp.send_message(message)


def _connection(server: MailServer, name: str, context: ssl.SSLContext) -> smtplib.SMTP:
    if server.is_tls:
        return smtplib.SMTP_SSL(server.host, server.port, name, timeout=WAIT_S, context=context)
    return smtplib.SMTP(server.host, server.port, name, timeout=WAIT_S)


@contextmanager
def _deadline(smtp: smtplib.SMTP) -> Iterator[None]:
    """Cut the connection at the limit: a timeout of the socket never ends while single bytes arrive."""

    def cut() -> None:
        with suppress(OSError):
            if smtp.sock is not None:
                smtp.sock.shutdown(socket.SHUT_RDWR)

    timer = Timer(LIMIT_S, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _reason(error: Exception) -> str:
    """Return why a message was not sent, in words that have no secret."""
    words = next(words for kind, words in REASONS.items() if isinstance(error, kind))
    code = error.smtp_code if isinstance(error, smtplib.SMTPResponseException) else 0
    return words.format(code=code)


def _line(text: str) -> str:
    """Return a name on one line, without control characters."""
    return " ".join(clean(text, NAME_CHARS).split())

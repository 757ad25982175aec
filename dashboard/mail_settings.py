"""Settings of e-mail: the server that sends invites. Without `LOOPSCOPE_SMTP_URL` nothing is ever sent.

dashboard/settings.py takes over every name in capitals. A variable that cannot be used stops the start with
one line that names it and shows no password.
"""

from __future__ import annotations

import os
from urllib.parse import SplitResult, unquote, urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from recorder.operations.people.mail_server import MailServer

_EXPECTED = "LOOPSCOPE_SMTP_URL must be like smtps://user:password@host:465 or smtp://host:25"
_PORTS = {"smtp": 587, "smtps": 465}


def _server() -> MailServer | None:
    text = os.environ.get("LOOPSCOPE_SMTP_URL", "")
    if not text:
        return None
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise SystemExit(_EXPECTED) from None
    if not _is_complete(parts):
        raise SystemExit(_EXPECTED)
    return MailServer(
        parts.hostname or "",
        port or _PORTS[parts.scheme],
        unquote(parts.username or ""),
        unquote(parts.password or ""),
        parts.scheme == "smtps",
    )


def _is_complete(parts: SplitResult) -> bool:
    is_login = bool(parts.username) == bool(parts.password)
    is_bare = parts.path in ("", "/") and not parts.query and not parts.fragment
    return parts.scheme in _PORTS and bool(parts.hostname) and is_login and is_bare


def _sender() -> str:
    name = "LOOPSCOPE_SMTP_FROM"
    address = os.environ.get(name, "")
    if not address and LOOPSCOPE_SMTP:
        raise SystemExit(f"{name} must be set, because LOOPSCOPE_SMTP_URL is")
    if address and not LOOPSCOPE_SMTP:
        raise SystemExit(f"{name} has no meaning without LOOPSCOPE_SMTP_URL")
    try:
        if address:
            validate_email(address)
    except ValidationError:
        raise SystemExit(f"{name} must be an e-mail address") from None
    return address


LOOPSCOPE_SMTP = _server()
LOOPSCOPE_SMTP_FROM = _sender()

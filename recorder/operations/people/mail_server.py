"""The server that sends e-mail, as a setting names it."""

from __future__ import annotations

from dataclasses import dataclass

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True, slots=True)
class MailServer:
    """Host, port and sign-in of a mail server; `user` is "" if it asks for none."""

    host: str
    port: int
    user: str
    password: str
    is_tls: bool  # from the first byte; else STARTTLS, if the server offers it

    @property
    def needs_tls(self) -> bool:
        """Return whether nothing may be sent without TLS: a password may, to this machine only."""
        return bool(self.user) and self.host not in _LOOPBACK

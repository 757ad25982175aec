"""A mail server of the tests: keeps what it takes, and refuses or stays silent as the test sets it."""

from __future__ import annotations

import base64
import socketserver
import threading
from contextlib import suppress
from email import message_from_bytes, policy
from email.message import EmailMessage

LINE_BYTES = 10_000


class SmtpServer:
    """A server on a free port of this machine. `refuses` names the command that it refuses, or "all"."""

    def __init__(self, login: tuple[str, str] | None = None) -> None:
        self.login = login
        self.refuses = ""
        self.is_silent = False
        self.messages: list[EmailMessage] = []
        self.recipients: list[str] = []
        self._server = _Server(("127.0.0.1", 0), _Connection)
        self._server.mail = self
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    mail: SmtpServer


class _Connection(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        self._say(220, "tests")
        while line := self.rfile.readline(LINE_BYTES):
            command = line[:4].upper().decode("latin-1").strip()
            if command == self.server.mail.refuses:
                self._say(550, "no")
            elif command == "QUIT":
                self._say(221, "bye")
                return
            else:
                self._answer(command, line.decode("latin-1").strip())

    def _answer(self, command: str, line: str) -> None:
        if self.server.mail.is_silent:
            self.rfile.read()  # until the client leaves
        elif command == "EHLO":
            self.wfile.write(b"250-tests\r\n" + (b"250-AUTH PLAIN\r\n" if self.server.mail.login else b""))
            self._say(250, "8BITMIME")
        elif command == "AUTH":
            self._sign_in(line.split()[2])
        elif command == "DATA":
            self._take()
        else:
            if command == "RCPT":
                self.server.mail.recipients.append(line.partition("<")[2].partition(">")[0])
            self._say(250, "ok")

    def _sign_in(self, given: str) -> None:
        expected = "\0".join(("", *(self.server.mail.login or ()))).encode()
        is_right = base64.b64decode(given) == expected
        self._say(235 if is_right else 535, "signed in" if is_right else "wrong")

    def _take(self) -> None:
        self._say(354, "go on")
        lines = []
        while (line := self.rfile.readline(LINE_BYTES)) not in (b".\r\n", b""):
            lines.append(line)
        self.server.mail.messages.append(message_from_bytes(b"".join(lines), policy=policy.default))
        self._say(250, "taken")

    def _say(self, code: int, text: str) -> None:
        with suppress(OSError):  # the client has left
            self.wfile.write(f"{code} {text}\r\n".encode())

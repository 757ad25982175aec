"""`manage.py up`: migrate, create the first project and user, serve, and print a sign-in link."""

from __future__ import annotations

import json
import os
import socket
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import connection, transaction

from dashboard.web.static_files import collect, in_child
from recorder.access import signin_links
from recorder.ingest.commit.disk_reserve import Reserve
from recorder.models import Project
from recorder.operations import audit, startup_checks

EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104  compared here, not bound

STARTS = 7_202  # our kind of advisory lock


class Command(BaseCommand):
    help = "Migrate, create the first project and user, serve, and print a one-time sign-in link."
    requires_system_checks: list[str] = []  # system checks load every page; `make check` runs them

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
        parser.add_argument("--port", type=int, default=8000, help="port to listen on (default 8000)")
        parser.add_argument(
            "--accept-loss",
            action="store_true",
            help="serve even if PostgreSQL settings allow a crash to lose acknowledged events",
        )

        parser.add_argument(
            "--new-database",
            action="store_true",
            help="begin with an empty SQLite database in a folder that had one",
        )

    def handle(
        self, *_: Any, host: str, port: int, accept_loss: bool, new_database: bool = False, **__: Any
    ) -> None:
        _check_address(host, port)
        _check_disk_space()
        if why := None if new_database else startup_checks.lost():
            raise CommandError(why)
        if why := startup_checks.damage() or (None if accept_loss else startup_checks.loss()):
            raise CommandError(why)
        with _alone():
            if why := startup_checks.newer_schema():  # another node may have migrated since this one started
                raise CommandError(why)
            if startup_checks.has_pending_migrations():
                in_child("migrate", "--no-input", "--skip-checks")
            self._user = _first_user()
            Project.objects.get_or_create(slug="default", defaults={"title": "Default"})
        collect()
        self._host = host
        self._say_where = Path(settings.DATA) / "server.json"
        self._serve(port)

    def _serve(self, port: int) -> None:
        from dashboard.server.daphne import Server  # noqa: PLC0415  importing it installs Twisted's reactor

        if self._host not in (*EVERYWHERE, *settings.ALLOWED_HOSTS):
            settings.ALLOWED_HOSTS.append(f"[{self._host}]" if ":" in self._host else self._host)
        from dashboard.asgi import application  # noqa: PLC0415  after the tables are there

        server = Server(application, self._host, port, self._listening)
        connection.close()
        try:
            server.serve()
        finally:
            self._say_where.unlink(missing_ok=True)
        if server.failure:
            raise CommandError(server.failure)

    def _listening(self, port: int) -> None:
        url = _url(self._host, port)
        self._say_where.write_text(json.dumps({"url": url, "pid": os.getpid()}))
        self.stdout.write(f"Loopscope listens on {url}")
        if self._user is not None:
            link = f"{url}signin/{sign_in_secret(self._user)}"
            self.stdout.write(f"Sign in as {self._user.get_username()}, once, within 10 minutes: {link}")
        self.stdout.flush()
        connection.close()


def _check_address(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except (socket.gaierror, TypeError) as error:  # TypeError: a name that cannot be encoded
            reason = getattr(error, "strerror", None) or str(error)
            raise CommandError(f"Cannot listen on {host}: {reason}. Choose another with --host.") from None
        except (OSError, OverflowError) as error:
            number = getattr(error, "errno", None)
            reason = os.strerror(number) if number else str(error).rstrip(".")
            raise CommandError(
                f"Cannot listen on {host} port {port}: {reason}. Choose another with --port."
            ) from None


def _check_disk_space() -> None:
    """Release the reserved disk space if the disk is full: SQLite needs some even to read."""
    if connection.vendor == "sqlite" and not Reserve(settings.DATA).make_room():
        raise CommandError(f"The disk of {settings.DATA} is full. Free a few MiB of it, then start again.")


@contextmanager
def _alone() -> Iterator[None]:
    """Hold a lock while the database is set up, so that nodes which start together do it in turn."""
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [STARTS])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [STARTS])


def _first_user() -> User | None:
    """Return the user of the sign-in link: the first superuser, created as `admin` if there is none."""
    has_one = User.objects.filter(is_superuser=True).exists()
    if not has_one and not User.objects.filter(username="admin").exists():
        user = User(username="admin", is_superuser=True, is_staff=True)
        user.set_unusable_password()
        user.save()
        return user
    return User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()


def sign_in_secret(user: User) -> str:
    """Return the secret of a new one-time sign-in link."""
    with transaction.atomic():
        audit.record(None, audit.command("up"), "signin.link", user.get_username())
        return signin_links.issue(user)


def _url(host: str, port: int) -> str:
    """Return the URL of the server on this machine."""
    name = "127.0.0.1" if host in EVERYWHERE else host
    return f"http://[{name}]:{port}/" if ":" in name else f"http://{name}:{port}/"

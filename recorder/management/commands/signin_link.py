"""`manage.py signin_link`: print a one-time sign-in link."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.urls import reverse

from recorder.access import signin_links
from recorder.operations import audit


class Command(BaseCommand):
    help = "Print the path of a one-time sign-in link; it lasts ten minutes."
    requires_system_checks: list[str] = []  # checks load every page; `make check` runs them

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--user", metavar="NAME", help="default: the first superuser")

    def handle(self, *_: Any, user: str | None, **__: Any) -> None:
        people = User.objects.filter(is_active=True).order_by("pk")
        found = people.filter(username=user).first() if user else people.filter(is_superuser=True).first()
        if found is None:
            raise CommandError(
                f"There is no user {user!r}." if user else "There is no user yet; run `up` first."
            )
        with transaction.atomic():
            secret = signin_links.issue(found)
            audit.record(None, audit.command("signin_link"), "signin.link", found.get_username())
        self.stdout.write(reverse("signin-link", args=[secret]))

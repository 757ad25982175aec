"""`loopscope tail FILE|-`: `loopscope-tail`, with the server and data folder of this machine as defaults."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TextIO, cast

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from loopscope_client.commands import tail
from recorder.core.formats.registry import SENT
from recorder.operations import server_info


class Command(BaseCommand):
    help = "Send the lines of a growing JSONL file, or of a pipe, as they are written."
    requires_system_checks: list[str] = []  # no database is needed; the server may be elsewhere

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments of `loopscope-tail`."""
        tail.add_arguments(parser)

    def handle(self, *_: Any, **given: Any) -> None:
        """Send lines until the end of the input or a signal."""
        options = tail.Options(**{field.name: given[field.name] for field in fields(tail.Options)})
        if options.format not in SENT:
            raise CommandError(f"unknown format; valid formats: {', '.join(SENT)}")
        options = replace(
            options,
            url=options.url or server_info.address(),
            spool=options.spool or Path(settings.DATA) / "spool",
        )
        try:
            tail.run(options, cast(TextIO, self.stderr))
        except tail.TailError as error:
            raise CommandError(str(error)) from error

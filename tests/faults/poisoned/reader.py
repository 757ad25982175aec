"""An application of a server under test: its reader does not end on spans with `POISON`, as after a bug."""

import itertools
from pathlib import Path

from django.apps import AppConfig
from django.conf import settings

POISON = b"poisoned span"
ARMED, BEGUN = "poison", "poison-is-read"  # files in the data folder: made by the test, and by the reader


class PoisonedReader(AppConfig):
    name = "tests.faults.poisoned"
    label = "poisoned_reader"

    def ready(self):
        from recorder.ingest.commit import bisect  # noqa: PLC0415  it needs the models

        record, folder = bisect.record, Path(settings.DATA)

        def poisoned(batches, unread=None):
            is_poisoned = any(POISON in line for batch in batches for line in batch.lines)
            if is_poisoned and (folder / ARMED).exists():
                (folder / BEGUN).touch()
                for _ in itertools.count():
                    pass
            return record(batches, unread)

        bisect.record = poisoned

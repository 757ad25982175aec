"""Producers: look-up by name, and their epochs."""

from __future__ import annotations

import json
from collections.abc import Collection

from recorder.database import sql
from recorder.models import Producer

IMPORT_PREFIX = "import:"  # of the names of producers that imports make


def named(project: int, names: Collection[str]) -> list[Producer]:
    """Return the producers with these names, without the columns that only a new one needs."""
    rows = sql.read(
        f"""SELECT id, name, high, epoch, format, is_demo, machine, reading FROM recorder_producer
            WHERE project_id = %s AND {sql.in_list("name")}""",  # noqa: S608  the name of a column
        *(project, sql.list_param(names)),
    )
    return [
        Producer(
            id=pk,
            project_id=project,
            name=name,
            high=high,
            epoch=epoch,
            format=form,
            is_demo=bool(is_demo),
            machine=machine,
            reading=None if reading is None else json.loads(reading),
        )
        for pk, name, high, epoch, form, is_demo, machine, reading in rows
    ]


def epoch(producer: int) -> int:
    """Return the epoch of the connection that a producer belongs to."""
    return Producer.objects.values_list("epoch", flat=True).get(pk=producer)

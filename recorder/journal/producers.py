"""Producers: look-up by name, and their epochs."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import datetime

from recorder.database import sql
from recorder.models import AccessToken, Producer

IMPORT_PREFIX = "import:"  # of the names of producers that imports make


def named(project: int, names: Collection[str]) -> list[Producer]:
    """Return the producers with these names, without the columns that only a new one needs."""
    rows = sql.read(
        f"""SELECT id, name, high, epoch, format, is_demo, machine, deletions, dropped, reading
            FROM recorder_producer
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
            deletions=deletions,
            dropped=dropped,
            reading=None if reading is None else json.loads(reading),
        )
        for pk, name, high, epoch, form, is_demo, machine, deletions, dropped, reading in rows
    ]


def epoch(producer: int) -> int:
    """Return the epoch of the connection that a producer belongs to."""
    return Producer.objects.values_list("epoch", flat=True).get(pk=producer)


def note_tokens(tokens: Mapping[int, tuple[datetime, str]]) -> None:
    """Update when and from which address access tokens were last used, to the minute.

    One write per batch would be a hot row.
    """
    adapt = sql.timestamp_encoder()
    sql.write(
        """UPDATE recorder_accesstoken SET last_used_at = %s, last_used_from = %s
           WHERE id = %s AND (last_used_at IS NULL OR last_used_at < %s)""",
        [
            (adapt(at), address, token, adapt(at - AccessToken.USED_WITHIN))
            for token, (at, address) in tokens.items()
        ],
    )

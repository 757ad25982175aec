"""Column types and expressions that are the same on SQLite and PostgreSQL."""

import json
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.functions import Coalesce

if TYPE_CHECKING:
    Text = models.TextField[Any, Any]
    OneToOne = models.OneToOneField[Any, Any]
else:
    Text = models.TextField  # take no parameters when they run
    OneToOne = models.OneToOneField


class JsonText(Text):
    """Any JSON value as ASCII text, with NUL and lone surrogates, which `jsonb` rejects."""

    def from_db_value(self, value: str | None, *_: object) -> Any:
        return None if value is None else json.loads(value)

    def get_prep_value(self, value: Any) -> str | None:
        return None if value is None else json.dumps(value, separators=(",", ":"))

    def to_python(self, value: Any) -> Any:
        return value


class LineKey(OneToOne):
    """A primary key equal to the journal's. SQLite needs the type `integer` to use the row's own number."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        return "integer" if connection.vendor == "sqlite" else super().db_type(connection)


def happened(event: str, of: str = "") -> Coalesce:
    """Return when a call, loop or group `started` or `ended`, as `recorder.core.event_time` defines it.

    `of` leads to the record: `happened("ended", "loop__")`. None while it has not.
    """
    return Coalesce(f"{of}{event}_received_at", f"{of}{event}_at")

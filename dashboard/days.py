"""The day of a moment, for queries that group by it: in UTC, as "2026-02-11", on both databases."""

from typing import Any

from django.db.models import CharField, Func


class Day(Func):
    """The first ten letters of a time. On SQLite that is how it is stored; Django would call Python a row."""

    function = "SUBSTR"
    template = "SUBSTR(%(expressions)s, 1, 10)"
    output_field = CharField()

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> Any:
        """Write it out of a timestamp."""
        template = "TO_CHAR(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD')"
        return self.as_sql(compiler, connection, template=template, **more)

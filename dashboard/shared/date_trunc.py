"""The day and the hour of a moment, for queries that group by them: as UTC text, on both databases."""

from typing import Any

from django.db.models import CharField, Func


class Day(Func):
    """The first ten letters of a time: "2026-02-11". So SQLite stores it; Django would call Python a row."""

    function = "SUBSTR"
    template = "SUBSTR(%(expressions)s, 1, 10)"
    output_field = CharField()
    form = "YYYY-MM-DD"

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> Any:
        """Write it out of a timestamp."""
        template = f"TO_CHAR(%(expressions)s AT TIME ZONE 'UTC', '{self.form}')"
        return self.as_sql(compiler, connection, template=template, **more)


class Hour(Day):
    """The first thirteen letters of a time: "2026-02-11 09"."""

    template = "SUBSTR(%(expressions)s, 1, 13)"
    form = "YYYY-MM-DD HH24"

"""Day and hour of a time as UTC text, for GROUP BY on SQLite and PostgreSQL."""

from typing import Any

from django.db.models import CharField, Func


class Day(Func):
    """The first ten characters of a time as SQLite stores it; TruncDay would call Python for each row."""

    function = "SUBSTR"
    template = "SUBSTR(%(expressions)s, 1, 10)"
    output_field = CharField()
    form = "YYYY-MM-DD"

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> Any:
        """Format a timestamp as SQLite stores it."""
        template = f"TO_CHAR(%(expressions)s AT TIME ZONE 'UTC', '{self.form}')"
        return self.as_sql(compiler, connection, template=template, **more)


class Hour(Day):
    """The first thirteen characters of a time: "2026-02-11 09"."""

    template = "SUBSTR(%(expressions)s, 1, 13)"
    form = "YYYY-MM-DD HH24"

"""The parameters of the dialog of a record, and the form of a new link."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from dashboard.comparison.turn_section import LEAST, MOST
from dashboard.web.query_params import whole_number
from recorder.access.share_links import PASSWORD_CHARS, Kind, Target, Terms

if TYPE_CHECKING:
    from django.http import QueryDict

LIFETIMES = (("1", "1h"), ("24", "24h"), ("168", "7d"), ("720", "30d"))  # hours
USUAL = "168"


def target_of(kind: Kind, params: QueryDict) -> Target | None:
    """Return the record that a query string names: `of`, and `in` for a session whose loops are compared."""
    named = tuple(dict.fromkeys(whole_number(word) or 0 for word in params.getlist("of")))
    if kind == "comparison":
        is_comparison = LEAST <= len(named) <= MOST and all(named)
        query = urlencode([("of", str(pk)) for pk in named])
        return Target(kind, whole_number(params.get("in", "")) or 0, query) if is_comparison else None
    if len(named) != 1 or not named[0]:
        return None
    return Target(kind, named[0])


def query_of(target: Target) -> str:
    """Return the query string that names a record, as `target_of` reads it."""
    if target.kind != "comparison":
        return urlencode({"of": target.pk})
    return f"in={target.pk}&{target.query}" if target.pk else target.query


def terms_of(form: QueryDict, newest: int | None) -> Terms:
    """Return the terms of a posted form; a frozen link shows the session as of its `newest` event."""
    hours = form.get("hours", USUAL)
    lifetimes = dict(LIFETIMES)
    return Terms(
        lifetime=timedelta(hours=int(hours if hours in lifetimes else USUAL)),
        password=form.get("password", "")[:PASSWORD_CHARS],
        is_masked="masked" in form,
        has_notes="notes" in form,
        event=newest if "frozen" in form else None,
    )

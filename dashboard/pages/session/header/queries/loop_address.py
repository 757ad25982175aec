"""The address for a page of a loop or session that is no more, as spans or a transcript took its place."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dashboard.rendering.shared_page import is_shared
from dashboard.web import links
from recorder.models import LoopRecord, Session


def session_of_loop(pk: int) -> int | None:
    """Return the session of a loop; None if there is no such loop."""
    return LoopRecord.objects.filter(pk=pk).values_list("session_id", flat=True).first()


def addresses(pks: Collection[int]) -> Mapping[int, str]:
    """Return the addresses of sessions; "" on a shared page, which has one address. One query."""
    slugs = Session.objects.filter(pk__in=pks).values_list("pk", "project__slug")
    return {pk: "" if is_shared() else links.session(slug, pk) for pk, slug in slugs}

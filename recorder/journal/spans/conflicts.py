"""Another content of a span that has ended, from another token: it is rejected, and the first one stays.

Who may send to a project could else replace what others recorded in it. A state without an end is completed
by any token, and the same token may send a newer state. Tokens are kept with the spans that a unit plans;
after a rebuild they are not known, which counts as another token.
"""

from __future__ import annotations

from recorder.core.formats import InvalidLineError
from recorder.core.formats.otlp.spans.digest import Digest
from recorder.database import sql

CONFLICT = "span_conflict"  # code of a rejected line


class SpanConflicts:
    """Finds conflicts, and names the tokens. One query for each token of a conflict."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}

    def of(self, before: Digest | None, digest: Digest, token: int) -> InvalidLineError | None:
        """Return why a state of a span that a token sent is rejected: of `before`, the recorded state."""
        if before is None or before.token == token or before.print == digest.print:
            return None
        # An earlier version noted neither that a span has no end nor its token.
        if before.is_partial or (not before.token and before.end == before.start):
            return None
        text = f"{self._name(token)} sent another content of span {digest.id} than {self._name(before.token)}"
        return InvalidLineError(CONFLICT, "", f"{text}, after the span had ended")

    def _name(self, token: int) -> str:
        if token not in self._names:
            rows = sql.read("SELECT name FROM recorder_accesstoken WHERE id = %s", token)
            self._names[token] = f"token {str(rows[0][0])!r}" if rows else "an unknown sender"
        return self._names[token]

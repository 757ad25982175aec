"""An entry of the audit log as a JSON document."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from dashboard.shared.session_json.schemas import Moment


class AuditItem(BaseModel):
    """An action: `before` and `after` are the values that it changed, null where there is none.

    `words` is the action as a page shows it, `group` is signins, access, data, or null for an action that
    this version does not know.
    """

    id: int
    at: Moment
    actor_kind: str
    actor: str
    action: str
    words: str
    group: str | None
    project: str | None
    target: str
    before: Any
    after: Any
    address: str | None

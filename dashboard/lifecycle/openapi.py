"""The lifecycle stream in the OpenAPI document, added by hand: it is served by ASGI, not by django-ninja."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from dashboard.lifecycle.events import Reason, Type

ABOUT = """Stream starts, ends, approval requests and alarms about waste, live only, as server-sent events.

They are named `lifecycle`. A comment is sent every 15 seconds while nothing happens. Frames are sent at once,
then at most every 50 ms.
"""
FAULTS = {
    "401": "Not signed in",
    "403": "A token without scope read",
    "404": "No such project",
    "503": "Busy",
}


class LifecycleFrame(BaseModel):
    """The data of one event of the stream."""

    model_config = ConfigDict(extra="forbid")

    type: Type
    session_id: str
    url: str
    at: int
    message_id: str = ""
    reason: Reason = "finish"
    pending_approval: bool = False
    rule: str = ""


def with_lifecycle(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of an OpenAPI document with the lifecycle stream added."""
    frame = LifecycleFrame.model_json_schema()
    frame["description"] = (
        "`at` is in epoch milliseconds. `message_id` is present if known, `reason` and `pending_approval` in "
        "`turn-finished`, `rule` in `waste-found`."
    )
    project = {"in": "query", "name": "project", "schema": {"type": "string"}, "required": False}
    stream = {"text/event-stream": {"schema": {"$ref": "#/components/schemas/LifecycleFrame"}}}
    operation = {
        "operationId": "dashboard_lifecycle_door_lifecycle",
        "summary": "Lifecycle",
        "description": ABOUT,
        "parameters": [project],
        "responses": {
            "200": {"description": "OK, until either side closes", "content": stream},
            **{status: {"description": words} for status, words in FAULTS.items()},
        },
    }
    schemas = {**schema["components"]["schemas"], "LifecycleFrame": frame}
    paths = {**schema["paths"], "/api/v1/lifecycle": {"get": operation}}
    return {**schema, "paths": paths, "components": {**schema["components"], "schemas": schemas}}

"""What the description of the API says about the channel, which is no door of Django's."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from dashboard.lifecycle.events import Reason, Type

ABOUT = """Stream what starts, waits and ends, live only, as server-sent events named `lifecycle`.

A comment comes every 15 seconds on a quiet line. What rings is told at once and then at most every 50 ms.
"""
FAULTS = {
    "401": "Not signed in",
    "403": "A token without scope read",
    "404": "No such project",
    "503": "Busy",
}


class LifecycleFrame(BaseModel):
    """The data of one event of the channel."""

    model_config = ConfigDict(extra="forbid")

    type: Type
    session_id: str
    url: str
    at: int
    message_id: str = ""
    reason: Reason = "finish"
    pending_approval: bool = False


def described(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an OpenAPI description with the channel in it."""
    frame = LifecycleFrame.model_json_schema()
    frame["description"] = (
        "`at` is epoch milliseconds; `message_id` stands where it is known, `reason` and `pending_approval` "
        "in `turn-finished`."
    )
    project = {"in": "query", "name": "project", "schema": {"type": "string"}, "required": False}
    stream = {"text/event-stream": {"schema": {"$ref": "#/components/schemas/LifecycleFrame"}}}
    operation = {
        "operationId": "dashboard_lifecycle_door_lifecycle",
        "summary": "Lifecycle",
        "description": ABOUT,
        "parameters": [project],
        "responses": {
            "200": {"description": "OK, until one side leaves", "content": stream},
            **{status: {"description": words} for status, words in FAULTS.items()},
        },
    }
    schemas = {**schema["components"]["schemas"], "LifecycleFrame": frame}
    paths = {**schema["paths"], "/api/v1/lifecycle": {"get": operation}}
    return {**schema, "paths": paths, "components": {**schema["components"], "schemas": schemas}}

"""Names of models as senders write them, without the route by which a proxy or a host reaches them."""

from __future__ import annotations

import re

# `bedrock/us.anthropic.claude-…`, `openrouter/z-ai/glm-4.6`, `publishers/anthropic/models/claude-…`, an ARN.
_ROUTE = re.compile(
    r"(?:(?:bedrock|converse|litellm|openrouter|vertex_ai|vertex)/|publishers/[^/]+/models/|arn:aws[^/]*/)+"
)


def without_route(model: str) -> str:
    """Return the name of a model without the route that precedes it."""
    match = _ROUTE.match(model)
    return model[match.end() :] if match is not None and match.end() < len(model) else model

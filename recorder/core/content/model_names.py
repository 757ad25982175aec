"""Names of models as senders write them, without the route by which a proxy or a host reaches them."""

from __future__ import annotations

import re

# `bedrock/us.anthropic.claude-…`, `openrouter/z-ai/glm-4.6`, `publishers/anthropic/models/claude-…`, an ARN.
_ROUTE = re.compile(
    r"(?:(?:bedrock|converse|litellm|openrouter|vertex_ai|vertex)/|publishers/[^/]+/models/|arn:aws[^/]*/)+"
)
# Some hosts write the version before the family, which Anthropic does only up to version 3.
_VERSION_FIRST = re.compile(r"\bclaude-([4-9])(?:[-.](\d))?-([a-z]+)(?![a-z0-9])")


def listed_name(model: str, provider: str) -> str:
    """Return the name by which price lists know a model: without its route, in the order of its maker.

    A provider's own name before the model is left out too.
    """
    name = without_route(model).removeprefix(f"{provider}/" if provider else "")
    return _VERSION_FIRST.sub(_family_first, name)


def _family_first(match: re.Match[str]) -> str:
    return "-".join(filter(None, ("claude", match[3], match[1], match[2])))


def without_route(model: str) -> str:
    """Return the name of a model without the route that precedes it."""
    match = _ROUTE.match(model)
    return model[match.end() :] if match is not None and match.end() < len(model) else model

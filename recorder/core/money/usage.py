"""Raw usage into five disjoint buckets. Whether `input` holds cached tokens depends on who counted them.

`config.api` says it first, the provider's name second. What cannot be told apart is None, never a guess.
"""

from __future__ import annotations

from typing import NamedTuple

from recorder.core.events import Usage
from recorder.core.formats.registry import CONVENTIONS, Convention
from recorder.core.records import Json, ModelConfig

_OF_API: dict[str, Convention] = {
    "anthropic_messages": "beside",
    "bedrock_converse_stream": "beside",
    "open_ai_completions": "inside",
    "open_ai_responses": "inside",
    "azure_open_ai_responses": "inside",
    "google_generative_ai": "inside",
    "google_vertex": "inside",
}
_OF_PROVIDER: dict[str, Convention] = {
    **dict.fromkeys(("anthropic", "bedrock", "amazon-bedrock", "aws-bedrock", "aws"), "beside"),
    **dict.fromkeys(
        (
            *("openai", "azure", "azure-openai", "google", "gemini", "google-vertex", "vertex", "vertexai"),
            *("cerebras", "cohere", "deepseek", "fireworks", "groq", "mistral", "openrouter", "perplexity"),
            *("together", "x-ai", "xai", "ollama"),
        ),
        "inside",
    ),
}
UNKNOWN_PROVIDERS = ("", "unknown")  # what a runtime writes for a provider that did not answer


class Buckets(NamedTuple):
    """The tokens of one call, each in one bucket. `cache_write_1h` is a part of `cache_write`."""

    uncached: int = 0
    cache_read: int = 0
    cache_write: int = 0
    visible: int = 0
    reasoning: int = 0
    cache_write_1h: int = 0

    @property
    def prompt(self) -> int:
        return self.uncached + self.cache_read + self.cache_write


def convention(config: ModelConfig | None, provider: str = "", source: str = "") -> Convention | None:
    """Return how tokens were counted; None if neither the api nor the provider is known."""
    if source in CONVENTIONS:
        return CONVENTIONS[source]
    api = api_of(config)
    if api in _OF_API:
        return _OF_API[api]
    if provider in UNKNOWN_PROVIDERS and config is not None:
        provider = config.provider
    return _OF_PROVIDER.get(provider.strip().lower())


def buckets(usage: Usage, counted: Convention | None) -> Buckets | None:
    """Return the buckets, or None when they do not reconcile. `total_tokens` is never looked at."""
    if not has_tokens(usage):
        return Buckets()
    if counted is None:
        return None
    cached = usage.cache_read + usage.cache_write
    uncached = usage.input - cached if counted == "inside" else usage.input
    visible = usage.output - usage.reasoning
    if uncached < 0 or visible < 0 or usage.cache_write < usage.cache_write_1h:
        return None
    return Buckets(
        uncached, usage.cache_read, usage.cache_write, visible, usage.reasoning, usage.cache_write_1h
    )


def has_tokens(usage: Usage) -> bool:
    """Say whether any token was counted."""
    return bool(usage.input or usage.output or usage.reasoning or usage.cache_read or usage.cache_write)


def request_size(usage: Usage, config: ModelConfig | None, source: str = "") -> int:
    """Return how large the request of a turn was: some count cached input beside `input`."""
    if convention(config, source=source) == "beside":
        return usage.input + usage.cache_read + usage.cache_write
    return usage.input


def api_of(config: ModelConfig | None) -> str:
    """Return the api that a config states, "" if it states none."""
    api: Json = config.snapshot.get("api") if config and isinstance(config.snapshot, dict) else None
    return api if isinstance(api, str) else ""

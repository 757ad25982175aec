"""Token usage in five disjoint buckets: uncached, cache read, cache write, visible and reasoning tokens.

Providers count cached tokens either beside `input` or inside it: `input_tokens` of Anthropic and Bedrock
exclude them; `prompt_tokens` of OpenAI and `promptTokenCount` of Google include them (API references).
The convention follows from the source of the session, else from `config.api`, else from the provider's name,
else from the model's. Without one, or if counts contradict each other (more cached than input tokens, more
reasoning than output tokens), the usage does not reconcile: there are no buckets rather than guessed ones.
`total_tokens` is never used: providers disagree on what it includes.

Invariant: the buckets of a call are at least 0, and their sum is its prompt and output tokens.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from recorder.core.events import Usage
from recorder.core.records import Json, ModelConfig
from recorder.core.sources import CONVENTIONS, Convention

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
# How the makers of models count, for calls that name no provider.
_OF_MODEL: tuple[tuple[re.Pattern[str], Convention], ...] = (
    (re.compile(r"claude"), "beside"),
    (re.compile(r"(chat)?gpt-|o[134]\b|gemini-|deepseek|mistral|grok-|command-"), "inside"),
)
UNKNOWN_PROVIDERS = ("", "unknown")  # written by runtimes when no provider answered


class Buckets(NamedTuple):
    """The tokens of a call, each in one bucket; `cache_write_1h` is a part of `cache_write`."""

    uncached: int = 0
    cache_read: int = 0
    cache_write: int = 0
    visible: int = 0
    reasoning: int = 0
    cache_write_1h: int = 0

    @property
    def prompt(self) -> int:
        return self.uncached + self.cache_read + self.cache_write


def convention(
    config: ModelConfig | None, provider: str = "", source: str = "", model: str = ""
) -> Convention | None:
    """Return where cached tokens were counted; None if API, provider and model are all unknown."""
    if source in CONVENTIONS:
        return CONVENTIONS[source]
    api = api_of(config)
    if api in _OF_API:
        return _OF_API[api]
    if provider in UNKNOWN_PROVIDERS and config is not None:
        provider = config.provider
    if provider in UNKNOWN_PROVIDERS:
        return _convention_of_model(model or (config.model if config is not None else ""))
    return _OF_PROVIDER.get(provider.strip().lower())


def _convention_of_model(model: str) -> Convention | None:
    name = model.rsplit("/", 1)[-1].lower()
    return next((found for pattern, found in _OF_MODEL if pattern.match(name)), None)


def buckets(usage: Usage, cached: Convention | None) -> Buckets | None:
    """Return the buckets of a usage counted by the convention `cached`; None if it does not reconcile."""
    if not has_tokens(usage):
        return Buckets()
    if cached is None:
        return None
    cache_tokens = usage.cache_read + usage.cache_write
    uncached = usage.input - cache_tokens if cached == "inside" else usage.input
    visible = usage.output - usage.reasoning
    if uncached < 0 or visible < 0 or usage.cache_write < usage.cache_write_1h:
        return None
    return Buckets(
        uncached, usage.cache_read, usage.cache_write, visible, usage.reasoning, usage.cache_write_1h
    )


def has_tokens(usage: Usage) -> bool:
    """Return whether any token was counted."""
    return bool(usage.input or usage.output or usage.reasoning or usage.cache_read or usage.cache_write)


def request_size(usage: Usage, cached: Convention | None) -> int:
    """Return the size of a turn's request in tokens; by the `beside` convention cached ones are added."""
    if cached == "beside":
        return usage.input + usage.cache_read + usage.cache_write
    return usage.input


def api_of(config: ModelConfig | None) -> str:
    """Return the `api` of a config, "" if it has none."""
    api: Json = config.snapshot.get("api") if config and isinstance(config.snapshot, dict) else None
    return api if isinstance(api, str) else ""

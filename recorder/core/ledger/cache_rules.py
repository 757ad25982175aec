"""The prompt cache of each provider as documented: least prefix, steps, life, and settings that count.

Each row names the documentation page and the month of the version that was read; where a page and what the
API does were reported to differ, the larger least prefix and the shorter life stand here, so that nothing is
called a miss that could be none. docs/explanation/block-ledger.md has the same table in words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

Control = Literal["explicit", "automatic"]
SETTINGS = ("thinking_level", "tool_choice", "response_format")  # of which a provider may make the prefix


@dataclass(frozen=True, slots=True)
class CacheRules:
    """The rules of one provider. `explicit`: only what a caller marks is cached, and writing is reported."""

    control: Control
    least_tokens: int  # of a prefix
    step: int | None  # tokens in which a prefix is counted; None: not documented
    life_s: int | None  # of a prefix that is not read; None: not documented
    long_life_s: int | None  # of a prefix written for longer
    source: str  # title of the documentation page
    read_on: str = ""  # month of the version of the page
    settings: tuple[str, ...] = SETTINGS  # whose change makes at least the messages another prefix


ANTHROPIC = CacheRules(
    *("explicit", 1024, 1, 300, 3600, "Anthropic, Prompt caching", "2026-10"),
    settings=("thinking_level", "tool_choice", "response_format"),
)
BEDROCK = CacheRules(
    "explicit", 1024, 1, 300, 3600, "Amazon Bedrock, Prompt caching for faster model inference", "2026-10"
)
OPENAI = CacheRules(
    *("automatic", 1024, 128, 300, 86_400, "OpenAI, Prompt caching", "2026-10"),
    settings=("thinking_level", "response_format"),
)
GEMINI = CacheRules("automatic", 4096, None, None, None, "Google, Context caching (implicit)", "2026-11")
DEEPSEEK = CacheRules("automatic", 64, 64, 3600, None, "DeepSeek, Context caching", "2026-10")
XAI = CacheRules("automatic", 1024, None, None, None, "xAI, Prompt caching", "2026-08")
GROQ = CacheRules("automatic", 1024, None, 7200, None, "Groq, Prompt caching", "2026-10")
MISTRAL = CacheRules("automatic", 64, 64, None, None, "Mistral, Prompt caching", "2026-10")
ALIBABA = CacheRules(
    "automatic", 1024, None, None, None, "Alibaba Cloud, Context cache (implicit)", "2026-10"
)
UNKNOWN = CacheRules("automatic", 1024, None, None, None, "")
LIKELY_STEP = 1024  # tokens, where none is documented: a smaller rest is no miss

RULES: dict[str, CacheRules] = {
    "anthropic": ANTHROPIC,
    **dict.fromkeys(("bedrock", "amazon-bedrock", "aws-bedrock", "aws.bedrock", "aws"), BEDROCK),
    **dict.fromkeys(("openai", "azure", "azure-openai", "azure.ai.openai", "openai-codex"), OPENAI),
    **dict.fromkeys(
        ("google", "gemini", "google-vertex", "vertex", "vertexai", "gcp.gemini", "gcp.vertex_ai"), GEMINI
    ),
    "deepseek": DEEPSEEK,
    **dict.fromkeys(("xai", "x-ai", "x_ai"), XAI),
    "groq": GROQ,
    **dict.fromkeys(("mistral", "mistral_ai", "mistralai"), MISTRAL),
    **dict.fromkeys(("alibaba", "dashscope", "qwen"), ALIBABA),
}
# Gateways pass requests on: the rules are those of the vendor that the model's name begins with.
GATEWAYS = ("openrouter", "litellm", "vercel", "portkey", "cloudflare", "requesty")
_CLAUDE = re.compile("claude|anthropic")
# By model: a pattern of its name, in which dots are hyphens, and what differs from the row of its provider.
_MODELS: tuple[tuple[CacheRules, str, dict[str, int | None]], ...] = (
    (ANTHROPIC, "(?:opus|fable|mythos)-5", {"least_tokens": 512}),
    (ANTHROPIC, "opus-4-7|sonnet-4-6|haiku-3|3-haiku|3-5-haiku", {"least_tokens": 2048}),
    (ANTHROPIC, "opus-4-[56]|haiku-4-5|mythos-preview", {"least_tokens": 4096}),
    (BEDROCK, "(?:opus|fable|mythos)-5", {"least_tokens": 512}),
    (BEDROCK, "haiku-3|3-haiku|3-5-haiku", {"least_tokens": 2048}),
    (BEDROCK, "opus-4-[567]|haiku-4-5", {"least_tokens": 4096}),
    (OPENAI, "gpt-5-[6-9](?!\\d)|gpt-[6-9]", {"step": None, "life_s": 1800, "long_life_s": None}),
    (OPENAI, "gpt-5-5(?!\\d)", {"life_s": 86_400}),
    (GEMINI, "gemini-2-5", {"least_tokens": 2048}),
)


@lru_cache(maxsize=512)
def rules_of(provider: str, model: str) -> CacheRules:
    """Return the rules of a model at a provider; a Claude model has Anthropic's wherever it runs.

    `UNKNOWN` for a provider without a row.
    """
    name = model.lower().replace(".", "-")
    found = _of_provider(provider.strip().lower(), name)
    for rules, pattern, changes in _MODELS:
        if rules is found and re.search(pattern, name):
            return replace(found, **changes)  # type: ignore[arg-type]  # the values of its own fields
    return found


def is_documented(provider: str, model: str) -> bool:
    """Return whether the provider reports cache reads by its documentation."""
    return rules_of(provider, model).source != ""


def _of_provider(provider: str, model: str) -> CacheRules:
    rules = RULES.get(provider, UNKNOWN)
    if rules is not BEDROCK and _CLAUDE.search(model):
        return ANTHROPIC
    if provider in GATEWAYS:
        return RULES.get(model.split("/", maxsplit=1)[0], UNKNOWN)
    return rules

"""The tokens that another model would count for the same text: a range, by the makers of both models.

The range is an assumption, not a measurement of the text. Models of one maker are taken to count alike, which
holds within a tokenizer and not across generations of it; between two makers, or where a maker is unknown,
the same text is taken to have 0.8 to 1.35 times as many tokens.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from recorder.core.money.prices import PriceKey


class Factor(NamedTuple):
    """The least and the most tokens for a thousand recorded ones."""

    least: int
    most: int


SAME_MAKER, ACROSS_MAKERS = Factor(1000, 1000), Factor(800, 1350)
_MAKERS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("anthropic", re.compile(r"claude")),
    ("openai", re.compile(r"(chat)?gpt-|o[134]\b|codex")),
    ("google", re.compile(r"gemini|gemma")),
    ("deepseek", re.compile(r"deepseek")),
    ("mistral", re.compile(r"(mi|mini|magi|dev|code)stral|(mix|pix|vox)tral")),
    ("xai", re.compile(r"grok")),
    ("meta", re.compile(r"llama")),
    ("qwen", re.compile(r"qwen")),
    ("cohere", re.compile(r"command")),
)


def maker_of(model: str) -> str:
    """Return the maker of a model by its name, "" if it is unknown."""
    name = model.rsplit("/", 1)[-1].rsplit("anthropic.", 1)[-1].lower()
    return next((maker for maker, pattern in _MAKERS if pattern.match(name)), "")


def factor(recorded: PriceKey, other: PriceKey) -> Factor:
    """Return the range of tokens that a model would count for text that another one answered."""
    if recorded == other:
        return SAME_MAKER
    maker = maker_of(recorded[0])
    return SAME_MAKER if maker and maker == maker_of(other[0]) else ACROSS_MAKERS

"""The model config of a loop, as its start sends it."""

from __future__ import annotations

from collections.abc import Mapping

from loopscope_client.transport.encoding import text_of


def snapshot(
    model: str | None, provider: str | None, settings: Mapping[str, object]
) -> dict[str, object] | None:
    """Return the config of a loop; None without model, provider and settings."""
    if model is None and provider is None and not settings:
        return None
    named = {"model": text_of(model or "unknown"), "provider": text_of(provider or "unknown")}
    return {
        **named,
        "config_id": None,
        **{name: value for name, value in settings.items() if value is not None},
    }

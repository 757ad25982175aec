"""A record's tokens and configs, in the words of the read API."""

from dashboard.api import schemas
from dashboard.chips import Chip
from recorder.models import ModelConfig, Tokens


def usage(record: Tokens) -> schemas.Usage:
    """Return tokens in phi-core's names."""
    return schemas.Usage(
        input=record.input_tokens,
        output=record.output_tokens,
        reasoning=record.reasoning_tokens,
        cache_read=record.cache_read_tokens,
        cache_write=record.cache_write_tokens,
        total_tokens=record.total_tokens,
    )


def config(found: ModelConfig | None, chip: Chip | None) -> schemas.Config | None:
    """Return a config without its snapshot."""
    if found is None or chip is None:
        return None
    return schemas.Config(
        key=found.key,
        label=chip.label,
        config_id=found.config_id or None,
        model=found.model,
        provider=found.provider,
    )


def loop_config(found: ModelConfig | None, chip: Chip | None) -> schemas.LoopConfig | None:
    """Return a config with its snapshot."""
    plain = config(found, chip)
    return (
        None if plain is None or found is None else schemas.LoopConfig(**dict(plain), snapshot=found.snapshot)
    )

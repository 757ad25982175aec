"""A record's tokens, costs and config as fields of a JSON document."""

from typing import Any

from dashboard.shared.queries.config_labels import Chip
from dashboard.shared.queries.costs import HasCost, usd
from dashboard.shared.session_json import money_fields, schemas
from recorder.core.sources import WITHOUT_TOTAL
from recorder.models import ModelConfig, Spend, Tokens


def reported_usage(record: Spend, source: str) -> money_fields.Usage | None:
    """Return tokens in phi-core's names; None if the sender reports none, which is not 0."""
    return None if record.unreconciled and not has_counts(record) else usage(record, source)


def usage(record: Tokens, source: str) -> money_fields.Usage:
    """Return tokens in phi-core's names; `source` is that of the session.

    A total is unknown where the runtime sends none, or none beside other counts.
    """
    is_known = source not in WITHOUT_TOTAL and (record.total_tokens or not has_counts(record))
    return money_fields.Usage(
        input=record.input_tokens,
        output=record.output_tokens,
        reasoning=record.reasoning_tokens,
        cache_read=record.cache_read_tokens,
        cache_write=record.cache_write_tokens,
        total_tokens=record.total_tokens if is_known else None,
    )


def has_counts(record: Tokens) -> bool:
    """Return whether a record has any tokens."""
    prompt = record.input_tokens or record.cache_read_tokens or record.cache_write_tokens
    return bool(prompt or record.output_tokens or record.reasoning_tokens)


def money(record: HasCost) -> dict[str, Any]:
    """Return the cost fields of a record."""
    return {
        "cost_usd": usd(record.cost_nano),
        "cost_source": record.cost_source,
        "unpriced": record.unpriced > 0,
    }


def usage_and_cost(record: Spend, source: str, *, is_inferred: bool) -> dict[str, Any]:
    """Return the usage and cost fields of a record of a session with this source.

    `is_inferred`: a call in it was priced by its model alone.
    """
    price_source = "provider_inferred" if is_inferred else "provider_stated"
    return {
        **money(record),
        "price_source": price_source if record.cost_source in ("computed", "mixed") else None,
        "usage": reported_usage(record, source),
        "buckets": buckets(record),
    }


def inclusive(whole: HasCost) -> dict[str, Any]:
    """Return the fields of a cost that includes sub-agents."""
    return {"inclusive_cost_usd": usd(whole.cost_nano), "inclusive_unpriced": whole.unpriced > 0}


def buckets(record: Spend) -> money_fields.Buckets | None:
    """Return the disjoint buckets; None when the usage of a call cannot be reconciled."""
    if record.unreconciled or record.uncached_tokens is None or record.visible_tokens is None:
        return None
    return money_fields.Buckets(
        uncached_input=record.uncached_tokens,
        cache_read=record.cache_read_tokens,
        cache_write=record.cache_write_tokens,
        output=record.visible_tokens,
        reasoning=record.reasoning_tokens,
    )


def config(model_config: ModelConfig | None, chip: Chip | None) -> schemas.Config | None:
    """Return a config without its snapshot."""
    if model_config is None or chip is None:
        return None
    return schemas.Config(
        key=model_config.key,
        label=chip.label,
        config_id=model_config.config_id or None,
        model=model_config.model,
        provider=model_config.provider,
    )


def loop_config(model_config: ModelConfig | None, chip: Chip | None) -> schemas.LoopConfig | None:
    """Return a config with its snapshot."""
    plain = config(model_config, chip)
    if plain is None or model_config is None:
        return None
    return schemas.LoopConfig(**dict(plain), snapshot=model_config.snapshot)

"""The cost that a span or a log record reports, in nano-dollars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from recorder.core.formats.base import Fields, object_field
from recorder.core.formats.otlp.spans.attributes import decoded_object, integer
from recorder.core.formats.otlp.spans.usage import names
from recorder.core.formats.otlp.spans.usage.objects import usage_object
from recorder.core.records import Json


def reported_cost_nano(attributes: Fields) -> int:
    """Return the cost that a span reports in nano-dollars, under any name; -1 if there is none."""
    objects = (decoded_object(attributes.get(name)) for name in names.COST_JSON)
    metrics = decoded_object(attributes.get(names.METRICS))
    inner = (each.get(name) for each in objects for name in names.JSON_COST)
    values = (attributes.get(name) for name in names.COST)
    of_usage = (usage_object(attributes).get(name) for name in names.PROVIDER_COST)
    measured = object_field(metrics, names.METRIC_COST).get("total")
    named = (*values, *inner, *of_usage, measured, *_costs_of_providers(attributes))
    found = next((cost for value in named if (cost := cost_nano(value)) >= 0), -1)
    for parts in names.COST_PARTS if found < 0 else ():
        found = _sum(attributes.get(name) for name in parts) if found < 0 else found
    return found if found >= 0 else _sum(decoded_object(attributes.get(names.COST_PARTS_JSON)).values())


def cost_of_call_nano(attributes: Fields) -> int:
    """Return the cost that a model call reports in nano-dollars, also as a plain `cost`; -1 without one."""
    found = reported_cost_nano(attributes)
    plain = (attributes.get(name) for name in names.COST_OF_CALL if found < 0)
    return next((cost for value in plain if (cost := cost_nano(value)) >= 0), found)


def _costs_of_providers(attributes: Fields) -> Iterator[Json]:
    """Yield the costs that a provider reports beside its answer."""
    providers = decoded_object(attributes.get(names.PROVIDER_METADATA))
    for about in (each for each in providers.values() if isinstance(each, dict)):
        for fields in (about, object_field(about, "usage")):
            yield from (fields.get(name) for name in names.PROVIDER_COST)


def _sum(values: Iterable[Json]) -> int:
    """Return the sum of the costs among some values; -1 if none is one."""
    costs = [cost for value in values if (cost := cost_nano(value)) >= 0]
    return sum(costs) if costs else -1


def record_cost_nano(attributes: Fields) -> int:
    """Return the cost that a log record of Claude Code reports in nano-dollars; -1 if there is none."""
    micros = integer(attributes.get("cost_usd_micros"))
    return micros * 1000 if micros is not None and micros >= 0 else cost_nano(attributes.get("cost_usd"))


def cost_nano(dollars: Json) -> int:
    """Return a reported cost in nano-dollars; -1 if there is none."""
    if isinstance(dollars, bool) or not isinstance(dollars, str | int | float):
        return -1
    try:
        text = str(dollars).strip().removeprefix("$").removesuffix("USD")
        amount = round(float(text) * 1e9)
    except (ValueError, OverflowError):
        return -1
    return amount if 0 <= amount < 2**53 else -1

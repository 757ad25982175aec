"""Colours of the series of one chart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.pages.costs.params import CostsParams
from dashboard.pages.costs.queries import overview
from dashboard.shared.series_colours import COLOURS, SLOTS, series_slots
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import ModelConfig, Project
from tests.support import build


def test_a_config_keeps_its_colour_and_a_clash_gets_a_free_one():
    assert series_slots([3, 1, 9]) == [3, 1, 9]
    assert series_slots([1, 1, 2, 1]) == [1, 3, 2, 4]
    assert series_slots([1] * 9) == [1, 2, 3, 4, 5, 6, 7, 8, 9]


@given(st.lists(st.integers(1, SLOTS), max_size=40))
def test_no_colour_is_used_twice_in_one_chart(preferred):
    slots = series_slots(preferred)

    drawn = [slot for slot in slots if slot]
    assert len(slots) == len(preferred)
    assert len(drawn) == len(set(drawn)) == min(len(preferred), SLOTS)
    assert all(slots[: min(len(slots), SLOTS)]) or len(preferred) > SLOTS


@pytest.mark.django_db
@pytest.mark.parametrize("by", ["config", "model", "session"])
def test_costs_draw_eight_series_in_eight_colours_and_the_rest_as_one(by):
    project = Project.objects.create(slug="default")
    for number in range(20):
        loop = f"s{number}.a.1"
        config = {"model": f"claude-{number}", "provider": "anthropic", "cost": 1}
        start = build.agent_start(loop, config_snapshot=config)
        answer = build.assistant(model=f"claude-{number}")
        end = build.turn_end(loop, usage={"input": 9, "output": 0, "cost_usd": 1}, message=answer)
        lines = [*map(build.line, (start, build.turn_start(loop), end, build.agent_end(loop)))]
        batch = Batch(project.pk, "a", None, lines)
        assert ingest(batch).rejected == []
    ModelConfig.objects.update(slot=1)

    figures = overview.page(project, CostsParams(by=by, since="24h"), build.NINE).figures

    names = [row.name.css for row in figures.rows]
    colours = [css for css in names if css != "others"]
    assert len(colours) == len(set(colours)) == COLOURS
    assert len(names) == 20

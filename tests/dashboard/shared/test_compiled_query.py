"""Compiled queries return the rows of the same Django query, for any values and in any thread."""

from collections.abc import Collection
from datetime import UTC, datetime

import pytest
from django.db.models import Case, Count, F, IntegerField, Q, QuerySet, Value, When, Window
from django.db.models.functions import RowNumber

from dashboard.shared.compiled_query import compiled
from dashboard.shared.queries.config_labels import chips
from recorder.core.handlers.model_configs import COMPARED_MAX
from recorder.models import LoopRecord, ModelConfig, Session
from tests.dashboard.open_page import in_thread
from tests.support.build import agent_start, small_loop

KINDS = ("Initial", "Default", "Branch")
CONFIG = {"provider": "anthropic", "api": "anthropic_messages"}


@compiled
def of_session(session: str, kinds: Collection[str]) -> QuerySet[LoopRecord]:
    found = LoopRecord.objects.filter(session__session_id=session, continuation_kind__in_list=kinds)
    return found.select_related("session").annotate(n=Count("turn_records")).order_by("pk")


@compiled
def titles(pks: Collection[int]) -> QuerySet[LoopRecord, str]:
    return LoopRecord.objects.filter(pk__in_list=pks).order_by("-pk").values_list("title", flat=True)


@compiled
def every(number: int, wanted: Collection[int]) -> QuerySet[LoopRecord, tuple[int, int]]:
    is_wanted = Case(When(pk__in_list=wanted, then=Value(1)), default=Value(0), output_field=IntegerField())
    placed = LoopRecord.objects.annotate(place=Window(RowNumber(), order_by="pk") % number, wanted=is_wanted)
    return placed.filter(Q(place=1) | Q(wanted=1)).order_by("pk").values_list("pk", "wanted")


@compiled
def longer(turns: int) -> QuerySet[LoopRecord, int]:
    return LoopRecord.objects.filter(turns__gt=F("run") + turns).order_by("pk").values_list("pk", flat=True)


@compiled
def since(moment: datetime) -> QuerySet[Session, str]:
    return (
        Session.objects.filter(last_event_at__gte=moment).order_by("pk").values_list("session_id", flat=True)
    )


@pytest.fixture
def loops(place):
    """Return the keys of nine loops in three sessions."""
    for session in "abc":
        first = f"{session}.a.0"
        for n, kind in enumerate(KINDS):
            more = {"parent": first, "kind": kind if kind == "Default" else {kind: {"tag": "b"}}} if n else {}
            place.feed(*small_loop(f"{session}.a.{n}", **more))
    return list(LoopRecord.objects.order_by("pk").values_list("pk", flat=True))


def test_a_compiled_query_returns_the_rows_of_the_plain_query(loops):
    cases = {"a": ["Initial"], "b": ("Initial", "Branch"), "c": {"Default"}, "d": KINDS}
    for session, kinds in cases.items():
        plain = LoopRecord.objects.filter(session__session_id=session, continuation_kind__in=kinds)
        found = of_session(session, kinds)
        assert found == list(plain.order_by("pk"))
        assert len(found) == len(kinds) * (session != "d")
        assert all((loop.session.session_id, loop.n) == (session, 1) for loop in found)


def test_selected_relations_are_read_in_the_same_query(loops, django_assert_num_queries):
    with django_assert_num_queries(1):
        assert [loop.session.session_id for loop in of_session("a", KINDS)] == ["a"] * 3


def test_a_collection_may_have_any_length(loops):
    for size in (1, 4, 9):
        assert len(titles(loops[:size])) == size
        assert len(titles(set(loops[:size]) | {10**9})) == size


def test_an_empty_collection_takes_no_query(loops, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert titles([]) == titles(set()) == of_session("a", ()) == []


def test_values_are_bound_and_never_part_of_the_sql(loops):
    for value in ("' OR 1=1 --", "%s", "a%", "[1]"):
        assert of_session(value, KINDS) == []
        assert of_session("a", [value]) == []


def test_values_may_be_part_of_expressions_and_windows(loops):
    assert [pk for pk, _ in every(2, [0])] == loops[::2]
    assert [pk for pk, _ in every(4, [loops[1]])] == [loops[0], loops[1], loops[4], loops[8]]
    assert longer(-1) == loops
    assert longer(1) == []


def test_a_value_may_be_a_datetime(loops):
    assert sorted(since(datetime(2000, 1, 1, tzinfo=UTC))) == ["a", "b", "c"]
    assert since(datetime(2100, 1, 1, tzinfo=UTC)) == []


async def test_another_thread_uses_its_own_connection(place):
    await in_thread(lambda: place.feed(*small_loop("a.a.0")))
    pks = await in_thread(lambda: list(LoopRecord.objects.values_list("pk", flat=True)))
    assert await in_thread(titles, pks) == ["Fix the parser."]
    await in_thread(lambda: place.feed(*small_loop("b.a.0")))
    assert await in_thread(titles, [*pks, pks[0] + 1]) == ["Fix the parser."] * 2


def test_a_config_beyond_the_maximum_has_a_label(place):
    snapshots = [CONFIG | {"config_id": f"m{n}", "model": f"m{n}"} for n in range(COMPARED_MAX + 3)]
    place.feed(
        *(agent_start(f"s{n}.a.0", config_snapshot=each) for n, each in enumerate(snapshots)),
    )
    configs = list(ModelConfig.objects.order_by("pk").values_list("pk", flat=True))
    assert len(configs) == COMPARED_MAX + 3
    wanted = {configs[0], *configs[-2:]}
    assert {pk: chip.model for pk, chip in chips(wanted).items() if pk in wanted} == {
        configs[n]: f"m{n}" for n in (0, COMPARED_MAX + 1, COMPARED_MAX + 2)
    }
    assert configs[-3] not in chips(wanted)

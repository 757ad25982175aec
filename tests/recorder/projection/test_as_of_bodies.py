"""Which bodies a replay reads, and what happens with one that cannot be read."""

from collections import Counter

import pytest

from recorder.core.formats import InvalidLineError
from recorder.core.formats.native import parse
from recorder.journal.read import texts
from recorder.models import EventRecord, LoopRecord
from recorder.projection.as_of import as_of, lazy_events
from tests.recorder.projection.test_as_of import held, send, session_of
from tests.support import build
from tests.support.long_loop import LongLoop

pytestmark = pytest.mark.django_db(transaction=True)


def test_bodies_that_the_recorder_does_not_read_are_not_restored(project, monkeypatch):
    send(project, *LongLoop(turns=40, deltas=1).lines())
    read, queries = [], []
    monkeypatch.setattr(
        lazy_events, "texts", lambda lines: queries.append(1) or read.extend(lines) or texts(lines)
    )
    with as_of(session_of(project, "long"), EventRecord.objects.latest("pk").pk):
        assert LoopRecord.objects.get().turns == 40
    kinds = Counter(EventRecord.objects.filter(pk__in=read).values_list("type", flat=True))
    # Of the first lines all are read ahead: which types the recorder reads is not known yet.
    assert kinds["TurnRequest"] < 10 > kinds["MessageStart"] - 10
    assert kinds["TurnStart"] == kinds["TurnEnd"] == kinds["MessageUpdate"] == 40
    assert len(queries) == 2


def test_bodies_of_a_type_that_is_read_late_are_read_together(project, monkeypatch):
    starts = [build.agent_start("s.a.1"), build.turn_start("s.a.1")]
    quiet = [build.message_end("s.a.1", message=build.tool_result()) for _ in range(80)]
    spoken = [build.message_update("s.a.1"), build.message_end("s.a.1")] * 40
    send(project, *starts, build.message_end("s.a.1", message=build.user()), *quiet, *spoken)
    queries = []
    monkeypatch.setattr(lazy_events, "texts", lambda lines: queries.append(1) or texts(lines))
    now = held(project)
    with as_of(session_of(project), EventRecord.objects.latest("pk").pk):
        assert held(project) == now
    assert len(queries) <= 3


def test_a_line_that_is_refused_today_counts_by_its_head(project, monkeypatch):
    send(project, build.agent_start("s.a.1"), build.tool_start("s.a.1"), build.tool_end("s.a.1"))
    monkeypatch.setattr(lazy_events, "parse", refuse_tools)
    with as_of(session_of(project), EventRecord.objects.latest("pk").pk):
        loop = LoopRecord.objects.get()
        assert (loop.events, loop.tool_calls, loop.unknown) == (3, 0, 2)


def refuse_tools(line, *, limits):
    if b"ToolExecution" in line:
        raise InvalidLineError("wrong_type", "", "no longer")
    return parse(line, limits=limits)


def test_nothing_is_left_of_a_look_that_broke_off_in_the_midst_of_a_line(project, monkeypatch):
    send(project, *build.small_loop("s.a.1"))
    session, last = session_of(project), EventRecord.objects.latest("pk").pk
    now = held(project)
    with monkeypatch.context() as broken:
        broken.setattr(lazy_events, "texts", disk_is_gone)
        with pytest.raises(OSError, match="gone"), as_of(session, last):
            pass
    with as_of(session, last):
        assert held(project) == now


def disk_is_gone(_):
    raise OSError("gone")

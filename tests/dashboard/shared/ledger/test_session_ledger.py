"""The ledger of a session adds up to its cost, in whole, by loop, and as of any event."""

import pytest
from django.db import connection

from dashboard.shared.ledger.queries.session_ledger import blocks_of_call, session_ledger
from recorder.ledger import follower
from recorder.models import LedgerBlock, LedgerCall, LedgerChain, Project, Session, Turn
from tests.recorder.ledger.test_follower import STREAMS, play

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def project(transactional_db):
    return Project.objects.create(slug="default")


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
def test_blocks_and_output_are_the_cost(project, path):
    play(project, path)
    follower.run_all()

    for session in Session.objects.all():
        found = session_ledger(session.pk)
        turns = Turn.objects.filter(loop__session=session, state="done")
        assert found.cost_nano == sum(turn.cost_nano or 0 for turn in turns)
        assert found.context_nano + found.output_nano + found.undivided_nano == found.cost_nano
        assert sum(block.carried_nano for block in found.blocks) == found.context_nano
        for call in found.calls:
            assert sum(nano for _, nano in blocks_of_call(call.turn)) == (call.context_nano or 0)
            assert (call.context_nano or 0) + (call.output_nano or 0) + call.undivided_nano == (
                call.cost_nano or 0
            )


def test_as_of_an_event_is_the_ledger_of_the_lines_up_to_it(project):
    path = next(path for path in STREAMS if path.stem == "d-compaction")
    play(project, path)
    follower.run_all()
    session = Session.objects.get()

    whole = session_ledger(session.pk, is_over=True)
    for count, call in enumerate(LedgerCall.objects.order_by("end_event"), start=1):
        found = session_ledger(session.pk, as_of=call.end_event)
        assert found.calls == whole.calls[:count]
        assert all(block.first <= count for block in found.blocks)
        assert all(block.left_by == "" for block in found.blocks if block.last == count)
    assert [call.number for call in whole.calls if call.compacted] == [5]
    gone = [block for block in whole.blocks if block.left_by == "compaction"]
    assert {(block.first, block.last) for block in gone} == {(2, 4), (3, 4), (4, 4)}
    assert {block.left_by for block in whole.blocks} == {"compaction", "end"}
    assert [block.kind for block in whole.blocks].count("compaction_summary") == 1


def test_a_chain_that_is_written_while_the_ledger_is_read_is_left_out(project):
    play(project, STREAMS[0])
    follower.run_all()
    session = Session.objects.order_by("pk").first()
    before = session_ledger(session.pk)
    block = LedgerBlock.objects.filter(session=session.pk).first()

    def writing(execute, sql, params, many, context):
        """Write a chain after the chains were read, as the follower may."""
        if sql.startswith("SELECT") and "recorder_ledgercall" in sql and not written:
            chain = LedgerChain.objects.create(project=project, session=session.pk, loop=block.chain.loop)
            columns = [each.attname for each in LedgerBlock._meta.fields if each.name not in ("id", "chain")]
            LedgerBlock.objects.create(**{name: getattr(block, name) for name in columns}, chain=chain)
            written.append(True)
        return execute(sql, params, many, context)

    written = []
    with connection.execute_wrapper(writing):
        found = session_ledger(session.pk)
    assert written
    assert found == before

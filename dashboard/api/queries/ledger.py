"""The block ledger of a session or of one call."""

from __future__ import annotations

from typing import Any, cast

from dashboard.api import ledger_schemas as schemas
from dashboard.shared.ledger.queries.difference import difference_of_call
from dashboard.shared.ledger.queries.session_ledger import (
    BlockRow,
    CallRow,
    SessionLedger,
    blocks_of_call,
    session_ledger,
)
from dashboard.shared.ledger_sums.figures import PeriodLedger
from dashboard.shared.ledger_sums.queries.requests import DearRequest, dear_requests
from dashboard.shared.ledger_sums.queries.sums import Scope, floors, read
from dashboard.shared.ledger_sums.rows import Loss
from dashboard.shared.ledger_sums.tools import Tool, by_cost
from dashboard.shared.queries.costs import usd
from recorder.core.ledger.difference import Difference, Excerpt
from recorder.core.ledger.reasons import agrees
from recorder.models import LedgerCall, Project, Session


def ledger_of_session(project: Project, session_id: str, at: int | None) -> schemas.SessionLedgerItem | None:
    """Return the ledger of a session, as of the event `at` or now; None without such a session."""
    session = Session.objects.filter(project=project, session_id=session_id).first()
    if session is None:
        return None
    ledger = session_ledger(session.pk, as_of=at, is_over=at is None and session.status != "running")
    return schemas.SessionLedgerItem(
        session_id=session_id,
        skipped_turns=ledger.skipped,
        turns=[_turn(call) for call in ledger.calls],
        blocks=[_block(block, ledger) for block in ledger.blocks],
        context_usd=_priced(ledger, ledger.context_nano),
        output_usd=_priced(ledger, ledger.output_nano),
        undivided_usd=_priced(ledger, ledger.undivided_nano),
        cost_usd=_priced(ledger, ledger.cost_nano),
        lost_usd=_priced(ledger, ledger.lost_nano),
    )


def ledger_of_turn(project: Project, turn: int) -> schemas.TurnLedgerItem | None:
    """Return the ledger of one call; None if the project has no such call in its ledger."""
    row = LedgerCall.objects.filter(turn=turn, chain__project=project).first()
    session = Session.objects.filter(pk=row.session, project=project).first() if row else None
    if session is None:
        return None
    ledger = session_ledger(session.pk, is_over=session.status != "running")
    call = next((call for call in ledger.calls if call.turn == turn), None)
    if call is None:
        return None
    about = _turn(call).model_dump()
    about["cache"]["first_difference"] = _difference(difference_of_call(turn))
    return schemas.TurnLedgerItem(**about, session_id=session.session_id, blocks=_sent_blocks(call, ledger))


def causes(scope: Scope) -> schemas.CausesItem:
    """Return the cost by kind and the losses by cause. Four queries."""
    sums = read(scope)
    return schemas.CausesItem(
        since=scope.first,
        until=scope.last,
        turns=sums.turns,
        context_usd=_usd(sums.context_nano),
        cost_usd=_usd(sums.cost_nano),
        kinds=[
            schemas.KindItem(kind=kind, tokens=tokens, cost_usd=_usd(nano))
            for kind, (tokens, nano) in sorted(sums.kinds.items())
        ],
        causes=[
            schemas.CauseItem(
                verdict=cast("Any", cause.verdict),
                lost_usd_a_week=_a_week(sums, cause.whole),
                changes=[
                    schemas.LossByChange(change=cast("Any", change or None), **_loss(loss))
                    for change, loss in cause.changes
                ],
                days=[schemas.LossOfDay(day=day, **_loss(loss)) for day, loss in sorted(cause.days.items())],
                **_loss(cause.whole),
            )
            for cause in sums.causes
        ],
        **_loss(sums.lost),
    )


def _a_week(sums: PeriodLedger, loss: Loss) -> str | None:
    """Return a loss in a week; None without a price, and in a period that is too short to say."""
    return usd(sums.a_week(loss.nano)) if loss.nano or not loss.tokens else None


def tools(scope: Scope) -> schemas.ToolsItem:
    """Return what results of tools and definitions never called cost. Four queries."""
    sums = read(scope)
    return schemas.ToolsItem(
        since=scope.first,
        until=scope.last,
        tools=[_tool(tool) for tool in sums.tools],
        never_called=[
            schemas.NeverCalledItem(
                server=group.server or None,
                tools=sorted(group.tools),
                agents=sorted(group.agents),
                tokens=group.tokens,
                turns=group.turns,
                carried_tokens=group.carried_tokens,
                carried_usd=_usd(group.nano),
            )
            for group in sums.unused
        ],
    )


def _tool(tool: Tool) -> schemas.ToolItem:
    return schemas.ToolItem(
        name=tool.name or None,
        kind=cast("Any", tool.kind),
        server=tool.server or None,
        results=tool.results,
        result_tokens=tool.result_tokens,
        carried_tokens=tool.carried_tokens,
        failed_rate=tool.failed,
        carried_usd=_usd(tool.nano),
        commands=[
            schemas.CommandItem(
                command=command.name,
                results=command.results,
                result_tokens=command.result_tokens,
                carried_tokens=command.carried_tokens,
                carried_usd=_usd(command.nano),
            )
            for command in by_cost(tool.commands.values())
        ],
    )


def requests(scope: Scope) -> schemas.RequestsItem:
    """Return the dearest requests. Eight queries."""
    dearest = dear_requests(scope)
    return schemas.RequestsItem(
        since=scope.first,
        until=scope.last,
        requests=dearest.calls,
        cost_usd=_usd(dearest.cost_nano),
        least=dearest.few.least if dearest.few else None,
        most=dearest.few.most if dearest.few else None,
        is_cut=dearest.is_cut,
        dearest=[_request(row) for row in dearest.rows],
    )


def _request(row: DearRequest) -> schemas.RequestItem:
    return schemas.RequestItem(
        turn=row.turn,
        session_id=row.session_id,
        loop=row.loop,
        number=row.number,
        agent_id=row.agent or None,
        model=row.model or None,
        ended_at=row.at,
        prompt_tokens=row.prompt,
        output_tokens=row.output,
        read_share=row.read_share,
        verdict=cast("Any", row.verdict or None),
        main_part=cast("Any", row.main_part or None),
        lost_usd=usd(row.lost_nano),
        cost_usd=_usd(row.cost_nano),
        sum_share=row.cumulative,
    )


def session_floors(scope: Scope) -> schemas.FloorsItem:
    """Return the floor of each agent and how it grew. One query."""
    return schemas.FloorsItem(
        since=scope.first,
        until=scope.last,
        floors=[
            schemas.FloorItem(
                agent_id=step.agent or None,
                version=step.version or None,
                first_day=step.first,
                last_day=step.last,
                calls=step.calls,
                tokens=step.tokens_each,
                system_tokens=step.system_each,
                tool_tokens=step.tools_each,
                growth=step.growth,
                cost_usd=_usd(step.nano),
            )
            for step in floors(scope)
        ],
    )


def versions(scope: Scope) -> schemas.VersionsItem:
    """Return turns, context and losses by agent and version. Four queries."""
    return schemas.VersionsItem(
        since=scope.first,
        until=scope.last,
        versions=[
            schemas.VersionItem(
                agent_id=row.agent or None,
                version=row.version or None,
                first_day=row.first,
                last_day=row.last,
                is_new=row.is_new,
                turns=row.turns,
                hit_rate=row.hit_rate,
                context_usd=_usd(row.context_nano),
                cost_usd=_usd(row.cost_nano),
                **_loss(row.loss),
            )
            for row in read(scope).versions
        ],
    )


def _loss(loss: Loss) -> dict[str, Any]:
    return {"misses": loss.calls, "lost_tokens": loss.tokens, "lost_usd": _usd(loss.nano)}


def _sent_blocks(call: CallRow, ledger: SessionLedger) -> list[schemas.SentBlock]:
    carried = {block.pk: block for block in ledger.blocks}
    is_divided = call.context_nano is not None
    return [
        schemas.SentBlock(
            **_block(carried[block.pk], ledger).model_dump(), cost_here_usd=_usd(nano) if is_divided else None
        )
        for block, nano in blocks_of_call(call.turn)
    ]


def _turn(call: CallRow) -> schemas.LedgerTurn:
    return schemas.LedgerTurn(
        id=call.turn,
        number=call.number,
        loop=call.loop,
        turn_index=call.ordinal,
        agent_id=call.agent_id or None,
        model=call.model or None,
        started_at=call.started_at,
        request="recorded" if call.is_recorded else "derived",
        prompt_tokens=call.prompt,
        output_tokens=call.output_tokens,
        kinds=dict(call.kinds),
        context_usd=usd(call.context_nano),
        output_usd=usd(call.output_nano),
        undivided_usd=None if call.cost_nano is None else _usd(call.undivided_nano),
        cost_usd=usd(call.cost_nano),
        cache=schemas.CacheVerdict(
            verdict=cast("Any", call.verdict),
            prefix_tokens=call.prefix_tokens,
            expected_read=call.expected_read,
            reported_read=call.cache_read,
            lost_tokens=call.lost_tokens,
            lost_usd=usd(call.lost_nano),
            idle_s=call.idle_s,
            life_s=call.life_s,
            provider_reason=call.reason or None,
            provider_agrees=agrees(call.verdict, call.reason),
        ),
    )


def _block(block: BlockRow, ledger: SessionLedger) -> schemas.LedgerBlockItem:
    return schemas.LedgerBlockItem(
        id=block.pk,
        kind=cast("Any", block.kind),
        name=block.name or None,
        detail=block.detail or None,
        server=block.server or None,
        tokens=block.tokens,
        tokens_source=cast("Any", block.tokens_source),
        bytes=block.bytes,
        first_turn=block.first,
        last_turn=block.last,
        turns=block.calls,
        left_by=cast("Any", block.left_by or None),
        carried_usd=_priced(ledger, block.carried_nano),
    )


def _difference(difference: Difference | None) -> schemas.FirstDifference | None:
    if difference is None:
        return None
    return schemas.FirstDifference(
        block=difference.block,
        kind=difference.kind,
        name=difference.name or None,
        byte=difference.byte if difference.byte >= 0 else None,
        path=difference.path or None,
        before=_text(difference.earlier),
        after=_text(difference.later),
    )


def _text(excerpt: Excerpt | None) -> str | None:
    return excerpt.before + excerpt.changed + excerpt.after if excerpt else None


def _priced(ledger: SessionLedger, nano: int) -> str | None:
    """Return a sum over the calls of a session; None if none of them has a price."""
    return _usd(nano) if ledger.has_price else None


def _usd(nano: int) -> str:
    return usd(nano) or "0"

"""The tables: the journal, which is the source of truth, and the records, which are derived from it."""

from recorder.models.access import AccessToken, Membership, Mute, Project, ReadMark, SignInLink
from recorder.models.insights import Insight, InsightEvidence, ReadLoop
from recorder.models.journal import JournalEvent, Pin, Producer, Pruning, QuarantinedLine
from recorder.models.pricing import Price, Repricing, Spend, Spending, Tokens
from recorder.models.records import (
    KNOWN_COST,
    UNFINISHED,
    Anomaly,
    Approval,
    ChildLoopRef,
    Compaction,
    EventRecord,
    LoopRecord,
    ModelConfig,
    ParallelGroupRecord,
    Session,
    SessionLabel,
    TextBlock,
    ToolCall,
    Turn,
    happened,
)
from recorder.models.scheduler import DailyJob
from recorder.models.spans import SpanKey, SpanTrace, SpanUnit, WaitingSpans

__all__ = (
    "KNOWN_COST",
    "UNFINISHED",
    "AccessToken",
    "Anomaly",
    "Approval",
    "ChildLoopRef",
    "Compaction",
    "DailyJob",
    "EventRecord",
    "Insight",
    "InsightEvidence",
    "JournalEvent",
    "LoopRecord",
    "Membership",
    "ModelConfig",
    "Mute",
    "ParallelGroupRecord",
    "Pin",
    "Price",
    "Producer",
    "Project",
    "Pruning",
    "QuarantinedLine",
    "ReadLoop",
    "ReadMark",
    "Repricing",
    "Session",
    "SessionLabel",
    "SignInLink",
    "SpanKey",
    "SpanTrace",
    "SpanUnit",
    "Spend",
    "Spending",
    "TextBlock",
    "Tokens",
    "ToolCall",
    "Turn",
    "WaitingSpans",
    "happened",
)

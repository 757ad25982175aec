"""The block ledger: the windows of model calls and their blocks, and sums of what they cost.

Derived from journal and records behind the writer (`recorder.ledger`), and made again after a rebuild. Keys
of records are plain numbers without constraints, so that the ledger never delays a delete.
"""

from collections.abc import Iterable

from django.db import models

from recorder.models.access import Project
from recorder.models.fields import JsonText
from recorder.models.pricing import ID

NAME = 200


class LedgerChain(models.Model):
    """The calls of one agent in a session, in order. Branches and judges have chains of their own.

    `state` is that of `recorder.core.ledger.window.Window` after the last call, without its blocks.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    session = models.BigIntegerField(db_index=True)
    loop = models.BigIntegerField()  # the first one
    agent_id = models.CharField(max_length=ID, blank=True)
    is_main = models.BooleanField(default=True)  # continued by the next loop of the agent
    state = JsonText(null=True)


class LedgerBlock(models.Model):
    """A block of a chain, from the first call that was sent it to the last."""

    chain = models.ForeignKey(LedgerChain, models.CASCADE, related_name="blocks", db_index=False)
    session = models.BigIntegerField(db_index=True)
    number = models.PositiveIntegerField()  # 1, 2, ... in its chain
    kind = models.CharField(max_length=20)
    name = models.CharField(max_length=NAME, blank=True)
    detail = models.CharField(max_length=NAME, blank=True)
    server = models.CharField(max_length=NAME, blank=True)
    key = models.CharField(max_length=16)
    tool_call_id = models.CharField(max_length=ID, blank=True)
    bytes = models.BigIntegerField()
    tokens = models.BigIntegerField()
    tokens_source = models.CharField(max_length=9)  # exact | split | estimated
    first_call = models.PositiveIntegerField()  # number of a call in the chain
    last_call = models.PositiveIntegerField(null=True)  # None: in the window of the last call
    left_by = models.CharField(max_length=10, blank=True)  # compaction | prune | replaced
    event = models.BigIntegerField(
        null=True
    )  # the line that holds it: of the first call's request, or of a message
    place = models.IntegerField(
        default=-1
    )  # of its message in that request; -1: a tool, the system prompt, or no request

    class Meta:
        constraints = (models.UniqueConstraint(fields=("chain", "number"), name="one_ledger_block"),)


class LedgerCall(models.Model):
    """One ended call: its window, and the verdict on its cache. Tokens; its cost is that of its turn."""

    chain = models.ForeignKey(LedgerChain, models.CASCADE, related_name="calls", db_index=False)
    session = models.BigIntegerField()
    loop = models.BigIntegerField(db_index=True)
    turn = models.BigIntegerField(unique=True)
    number = models.PositiveIntegerField()  # 1, 2, ... in its chain
    end_event = models.BigIntegerField()
    ranges = JsonText()  # the window: pairs of first and last block
    kinds = JsonText()  # tokens by kind
    known = models.BigIntegerField()  # tokens of all blocks of the window
    is_recorded = models.BooleanField()  # False: inferred from the messages that must have been sent
    compacted = models.BooleanField(default=False)
    verdict = models.CharField(max_length=16)
    prefix_blocks = models.PositiveIntegerField()
    prefix_tokens = models.BigIntegerField()
    expected_read = models.BigIntegerField(null=True)
    lost_tokens = models.BigIntegerField(default=0)
    idle_s = models.FloatField(default=0)
    life_s = models.PositiveIntegerField(null=True)
    reason = models.CharField(max_length=60, blank=True)  # the provider's own

    class Meta:
        constraints = (models.UniqueConstraint(fields=("chain", "number"), name="one_ledger_call"),)
        indexes = (models.Index(fields=("session", "end_event"), name="ledger_calls_of_session"),)


class LedgerGap(models.Model):
    """An ended call that the ledger could not take; its cost is undivided. Made again with its session."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="+")
    session = models.BigIntegerField(db_index=True)
    loop = models.BigIntegerField()
    turn = models.BigIntegerField(unique=True)
    end_event = models.BigIntegerField()
    error = models.CharField(max_length=NAME, blank=True)  # name of the exception


class _Sums(models.Model):
    """Sums over calls, for one part of what they cost.

    `kind` is a kind of blocks, `output`, `undivided` (a cost that no rates divide), or one that is no part of
    the cost: `miss`, or `request`. `name` is the tool, the verdict, or the class of the cost of requests
    (`recorder.core.ledger.cost_classes`); `server` that of the tool, the command of a shell, or what changed
    (`recorder.core.ledger.changes`).
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    day = models.DateField()  # in UTC, of the end of the call
    agent_id = models.CharField(max_length=ID, blank=True)
    version = models.CharField(max_length=NAME, blank=True)
    model = models.CharField(max_length=ID, blank=True)
    kind = models.CharField(max_length=20)
    name = models.CharField(max_length=NAME, blank=True)
    server = models.CharField(max_length=NAME, blank=True)
    calls = models.BigIntegerField(default=0)  # whose window has it
    tokens = models.BigIntegerField(default=0)  # over all these windows
    blocks = models.BigIntegerField(default=0)  # new ones; of a verdict: calls that lost tokens
    block_tokens = models.BigIntegerField(default=0)  # of the new ones
    cost_nano = models.BigIntegerField(default=0)

    class Meta:
        abstract = True


class LedgerSum(_Sums):
    """The sums of one session and day."""

    session = models.BigIntegerField(db_index=True)

    class Meta:
        indexes = (
            models.Index(fields=("project", "day", "kind"), name="ledger_sums_of_day"),
            # With `kind`, although all have the same: else SQLite reads the row to compare it.
            models.Index(
                fields=("project", "day", "session", "name", "kind", "blocks", "tokens", "cost_nano"),
                condition=models.Q(kind="miss", tokens__gt=0),
                name="ledger_sums_losses",
            ),
            models.Index(
                fields=("project", "day", "name", "session", "kind"),
                condition=models.Q(kind="request"),
                name="ledger_sums_requests",
            ),
        )


class LedgerDay(_Sums):
    """The sums of one project and day."""

    sessions = models.BigIntegerField(default=0)

    class Meta:
        indexes = (models.Index(fields=("project", "day"), name="ledger_days"),)


class LedgerDirtyDay(models.Model):
    """A day whose `LedgerDay` rows are to be added up again."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    day = models.DateField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "day"), name="one_dirty_day"),)


class LedgerRedo(models.Model):
    """A session whose ledger is to be made again: a loop was withdrawn, or the cost of a call changed."""

    session = models.BigIntegerField(primary_key=True)
    is_whole = models.BooleanField(default=True)  # False: only costs changed, so only the sums

    @classmethod
    def mark(cls, sessions: Iterable[int], *, is_whole: bool = True) -> None:
        """Note sessions whose ledger is to be made again."""
        rows = [LedgerRedo(session=pk, is_whole=is_whole) for pk in sorted(sessions)]
        if is_whole:
            LedgerRedo.objects.bulk_create(
                rows, update_conflicts=True, update_fields=["is_whole"], unique_fields=["session"]
            )
        else:
            LedgerRedo.objects.bulk_create(rows, ignore_conflicts=True)


class LedgerState(models.Model):
    """The progress of the ledger of a project: the calls that end with a line up to `cursor` are in it."""

    project = models.OneToOneField(Project, models.CASCADE, primary_key=True, related_name="+")
    cursor = models.BigIntegerField(default=0)
    version = models.PositiveIntegerField()  # of the rules; another one makes the ledger again

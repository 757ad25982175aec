"""Waste: calls that brought nothing new, found by rules while a loop runs, with the turns that paid for them.

Derived from journal and records behind the writer (`recorder.waste`), and made again after a rebuild. Keys of
records are plain numbers without constraints, so that waste never delays a delete.
"""

from collections.abc import Iterable

from django.db import models

from recorder.models.access import Project
from recorder.models.fields import JsonText
from recorder.models.pricing import ID

NAME = 200
KEY = 32


class Rule(models.TextChoices):
    """The reasons why calls are waste; `recorder.core.waste` has the rules."""

    SAME_CALL = "same_call", "Same call, same result"
    ALTERNATING = "alternating", "Two calls in turns"
    SAME_ERROR = "same_error", "Same error again"
    REREAD = "reread", "Unchanged file read again"
    CUT_OUTPUT = "cut_output", "Output cut at its limit"
    THROWN_AWAY = "thrown_away", "Thrown away"


class Waste(models.Model):
    """The finding of one rule in one loop about one thing: a call, an error, a file."""

    Rule = Rule

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    session = models.BigIntegerField(db_index=True)
    loop = models.BigIntegerField()
    agent_id = models.CharField(max_length=ID, blank=True)
    rule = models.CharField(max_length=11, choices=Rule)
    name = models.CharField(max_length=NAME, blank=True)  # of the tool, or of the file
    key = models.CharField(max_length=KEY)  # unique in its loop and rule
    times = models.PositiveIntegerField()  # how often it occurred, the first included
    first_line = models.BigIntegerField()  # ids of journal lines
    last_line = models.BigIntegerField()
    last_at = models.DateTimeField()
    alarm_line = models.BigIntegerField(null=True)  # the line that made it an alarm
    alarmed_at = models.DateTimeField(null=True)  # when that line was received
    counted_nano = models.BigIntegerField(default=0)  # cost when it was found; only alarms depend on it

    class Meta:
        constraints = (models.UniqueConstraint(fields=("loop", "rule", "key"), name="one_waste"),)
        indexes = (
            models.Index(fields=("project", "last_at"), name="waste_of_time"),
            models.Index(
                fields=("project", "alarmed_at"),
                condition=models.Q(alarm_line__isnull=False),
                name="waste_alarms",
            ),
        )


class WastedCall(models.Model):
    """A call that is waste: of a turn's cost and tokens the part 1 / `share`.

    A call belongs to one waste at most, so that sums over wastes count nothing twice.
    """

    waste = models.ForeignKey(Waste, models.CASCADE, related_name="calls")
    session = models.BigIntegerField(db_index=True)
    loop = models.BigIntegerField()
    turn = models.BigIntegerField()
    tool_call = models.BigIntegerField(null=True)  # None: the whole turn
    line = models.BigIntegerField()  # at which it was found to be waste
    share = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("turn", "tool_call"), name="one_wasted_call"),
            models.UniqueConstraint(
                fields=("turn",), condition=models.Q(tool_call__isnull=True), name="one_wasted_turn"
            ),
        )


class WasteLoop(models.Model):
    """The state of the rules for a loop that has not ended, as `recorder.core.waste` writes it."""

    loop = models.BigIntegerField(primary_key=True)
    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    session = models.BigIntegerField(db_index=True)
    state = JsonText(null=True)


class WasteRedo(models.Model):
    """A session whose waste is to be found again: a loop was withdrawn, or the cost of a call changed."""

    session = models.BigIntegerField(primary_key=True)

    @classmethod
    def mark(cls, sessions: Iterable[int]) -> None:
        """Note sessions whose waste is to be found again."""
        rows = [WasteRedo(session=pk) for pk in sorted(sessions)]
        WasteRedo.objects.bulk_create(rows, ignore_conflicts=True)


class WasteState(models.Model):
    """The progress of the search for waste in a project: the lines up to `cursor` were looked at."""

    project = models.OneToOneField(Project, models.CASCADE, primary_key=True, related_name="+")
    cursor = models.BigIntegerField(default=0)
    version = models.PositiveIntegerField()  # of the rules; another one finds all waste anew

"""Insights, and the loops that consolidation has read; see `recorder.insights`."""

from django.db import models

from recorder.models.access import Project
from recorder.models.fields import JsonText
from recorder.models.pricing import ID


class Insight(models.Model):
    """A procedure, the solution of an error, or a fact, identified by `key`.

    Insights of the demo have rows of their own, so that they can be deleted.
    """

    class Kind(models.TextChoices):
        PROCEDURE = "procedure", "Procedure"
        SOLUTION = "solution", "Error solution"
        FACT = "fact", "Fact"

    project = models.ForeignKey(Project, models.CASCADE, related_name="insights", db_index=False)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    key = models.CharField(max_length=32)
    is_demo = models.BooleanField(default=False)
    agent_id = models.CharField(max_length=ID, blank=True)
    steps = JsonText(default=list)
    about = models.CharField(max_length=100, blank=True)
    statement = models.TextField(blank=True, db_column="said")  # the error of a solution; the fact
    is_changed = models.BooleanField(default=False)
    head = models.CharField(max_length=32, blank=True)  # of a procedure: the key of all steps but the last
    tail = models.CharField(max_length=32, blank=True)  # of a procedure: the key of all steps but the first
    is_part = models.BooleanField(default=False)  # of a procedure: a longer one occurs as often
    times = models.PositiveBigIntegerField(default=0)
    worked = models.PositiveBigIntegerField(default=0)
    loops = models.PositiveBigIntegerField(default=0)
    durations = JsonText(default=dict)  # number of occurrences by rounded milliseconds
    median_ms = models.BigIntegerField(null=True)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    dismissed_at = models.DateTimeField(null=True)
    dismissed_by = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "key", "is_demo"), name="one_insight"),)
        indexes = (
            models.Index(fields=("project", "-last_at", "-id"), name="insight_newest"),
            models.Index(fields=("project", "head"), name="insight_head"),
            models.Index(fields=("project", "tail"), name="insight_tail"),
        )


class InsightEvidence(models.Model):
    """One of the newest loops that show an insight. A rebuild keeps the keys of loops."""

    insight = models.ForeignKey(Insight, models.CASCADE, related_name="evidence", db_index=False)
    loop = models.BigIntegerField()
    events = JsonText(default=list)
    times = models.PositiveIntegerField(default=1)
    worked = models.PositiveIntegerField(default=0)
    text = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("insight", "loop"), name="one_evidence"),)


class ReadLoop(models.Model):
    """A loop that consolidation has read; each is read once. `facts` is the state of the model's request."""

    loop = models.BigIntegerField(primary_key=True)
    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    facts = models.CharField(max_length=8, blank=True)  # "" | wanted | done | failed
    tries = models.PositiveSmallIntegerField(default=0)

    class Meta:
        indexes = (
            models.Index(fields=("project", "loop"), condition=models.Q(facts="wanted"), name="facts_wanted"),
        )

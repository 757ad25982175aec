"""The journal, which is the truth: who sent which line, as it came."""

from django.db import models

from recorder.models.access import Project
from recorder.models.fields import JsonText
from recorder.models.pricing import ID


class Producer(models.Model):
    """One numbered stream of lines. `high` is the highest number stored with no hole below it."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="producers")
    name = models.CharField(max_length=200)
    high = models.BigIntegerField(default=-1)
    epoch = models.BigIntegerField(default=0)  # of the connection it belongs to; older ones are refused
    format = models.CharField(max_length=20, default="native")
    reading = JsonText(null=True)  # what a reader of foreign lines must remember to go on
    is_demo = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    last_seen_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "name"), name="one_producer"),)


class JournalEvent(models.Model):
    """One recorded line. Never changed, which the database sees to (`recorder.journal.immutability`).

    `consolidated_at` alone is ever set, and pruning takes the body and says when.

    `own` are the bytes that no earlier line of the producer held, `pieces` says where the others are, and
    `recorder.journal.read` puts them together. Of a pruned line `own` is its fingerprint.

    A `flush` is a producer's word that it is done: it has no line and no number, but a rebuild must see it.
    A `read` is what the foreign line after it says in native words; it has no number either.
    """

    # Without indexes of their own: each would cost every line, and no query filters by them alone.
    project = models.ForeignKey(Project, models.CASCADE, db_index=False)
    producer = models.ForeignKey(Producer, models.CASCADE, related_name="lines", db_index=False)
    seq = models.BigIntegerField(null=True)
    kind = models.CharField(max_length=8, default="line")  # line | flush | read
    received_at = models.DateTimeField()
    size = models.IntegerField(default=0)  # bytes of the line
    # Before the bytes: what stands behind them is read through them.
    consolidated_at = models.DateTimeField(null=True)
    pruned_on = models.DateField(null=True)
    pieces = models.TextField(null=True)  # noqa: DJ001  null is "the line is its own bytes"
    own = models.BinaryField(default=b"")

    class Meta:
        constraints = (models.UniqueConstraint(fields=("producer", "seq"), name="one_line"),)
        indexes = (
            # No line is in it when it is written, so it costs no line anything.
            models.Index(
                fields=("project", "producer", "received_at"),
                condition=models.Q(consolidated_at__isnull=False, pruned_on__isnull=True),
                name="lines_to_prune",
            ),
        )


class Pin(models.Model):
    """A session whose bodies people want kept. By its name: a rebuild makes sessions anew."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="pins", db_index=False)
    session_id = models.CharField(max_length=ID)
    pinned_by = models.CharField(max_length=200, blank=True)
    pinned_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "session_id"), name="one_pin"),)


class Pruning(models.Model):
    """One time that old bodies went: what went, and how many lines stayed for what reason. Kept for good."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="prunings")
    before = models.DateTimeField()  # lines received before this were looked at
    lines = models.BigIntegerField(default=0)
    size = models.BigIntegerField(default=0)  # bytes that these lines had
    unconsolidated = models.BigIntegerField(default=0)
    pinned = models.BigIntegerField(default=0)
    open = models.BigIntegerField(default=0)
    needed = models.BigIntegerField(default=0)  # lines that stay are made of these
    finished_at = models.DateTimeField()


class QuarantinedLine(models.Model):
    """A line that was refused: its first 64 KiB and why. Kept 7 days."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="quarantine")
    producer = models.ForeignKey(Producer, models.CASCADE)
    seq = models.BigIntegerField()
    code = models.CharField(max_length=32)
    path = models.CharField(max_length=500, blank=True)
    message = models.CharField(max_length=1000)
    raw = models.BinaryField()
    size = models.BigIntegerField()
    received_at = models.DateTimeField()

    class Meta:
        indexes = (
            models.Index(fields=("project", "-id"), name="quarantine_newest"),
            # Covers the groups by reason: the rows themselves have up to 64 KiB of the line.
            models.Index(
                fields=("project", "code", "-id", "producer", "received_at"), name="quarantine_by_code"
            ),
        )

"""The audit log, daily jobs, deletions of sessions, and what keeps deleted ones from being recorded again."""

from django.db import models

from recorder.models.access import Project
from recorder.models.fields import JsonText
from recorder.models.pricing import ID


class AuditEntry(models.Model):
    """One action of a user, a token or a command. Database triggers reject changes, and deletions but
    those of an `AuditPruning`.

    A project that is gone keeps its entries, so `project` is no checked reference. `before` and `after` are
    the values that the action changed, null where there is none.
    """

    project = models.ForeignKey(
        Project, models.DO_NOTHING, null=True, related_name="+", db_constraint=False, db_index=False
    )
    at = models.DateTimeField()
    actor_kind = models.CharField(max_length=8)  # user | token | command | unknown
    actor = models.CharField(max_length=200, blank=True)
    action = models.CharField(max_length=40)
    target = models.CharField(max_length=ID, blank=True)
    before = JsonText(null=True)
    after = JsonText(null=True)
    address = models.CharField(max_length=64, blank=True)

    class Meta:
        indexes = (models.Index(fields=("project", "-id"), name="audit_newest"),)


class AuditPruning(models.Model):
    """One run that deletes old entries of a project, or of none. Open until `finished_at` is set.

    Database triggers permit the deletion of an entry while a run of its project is open whose `before` is
    later than the entry, if the entry is older than a year.
    """

    project = models.ForeignKey(Project, models.CASCADE, null=True, related_name="+")
    before = models.DateTimeField()  # entries recorded before this are deleted
    entries = models.BigIntegerField(default=0)
    finished_at = models.DateTimeField(null=True)


class Deletion(models.Model):
    """A session that was deleted, or is being deleted: then `finished_at` is null. Never deleted itself.

    `session` is the primary key of its row while that exists. `dropped` counts lines of it that came later.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="deletions")
    session_id = models.CharField(max_length=ID)
    session = models.BigIntegerField()
    newest = models.BigIntegerField()  # the last journal id that may be encoded against its lines
    requested_by = models.CharField(max_length=200, blank=True)
    requested_at = models.DateTimeField()
    loops = models.BigIntegerField(default=0)
    lines = models.BigIntegerField(default=0)
    size = models.BigIntegerField(default=0)  # bytes of these lines
    dropped = models.BigIntegerField(default=0)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes = (
            models.Index(
                fields=("project",), condition=models.Q(finished_at__isnull=True), name="open_deletions"
            ),
        )


class ProjectDeletion(models.Model):
    """A project that was deleted, or is being deleted: then `finished_at` is null. Never deleted itself."""

    project = models.OneToOneField(Project, models.CASCADE, primary_key=True, related_name="+")
    slug = models.CharField(max_length=64)  # as the project had
    requested_by = models.CharField(max_length=200, blank=True)
    user = models.BigIntegerField(null=True)  # primary key of the person who requested it
    requested_at = models.DateTimeField()
    sessions = models.BigIntegerField(default=0)  # that it had
    lines = models.BigIntegerField(default=0)  # that its sessions had
    deleted = models.BigIntegerField(default=0)  # rows of its journal that are deleted so far
    rows = models.BigIntegerField(default=0)  # of other tables that are deleted so far
    finished_at = models.DateTimeField(null=True)


class Tombstone(models.Model):
    """The hash of something that was of a deleted session: a line that names it is not recorded.

    A `session`, a `loop` of a producer, a loop id of `any` producer, a `producer` of foreign lines, the
    `trace` or a `key` of spans.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=8)
    key = models.CharField(max_length=32)
    deletion = models.ForeignKey(Deletion, models.CASCADE, related_name="tombstones")

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "kind", "key"), name="one_tombstone"),)


class DailyJob(models.Model):
    """One daily job: its last run, and the node that runs it now; see `recorder.operations.scheduler`."""

    name = models.CharField(max_length=40, unique=True)
    done_at = models.DateTimeField()  # start of the last successful run: what was due by then is done
    requested_at = models.DateTimeField(null=True, db_column="asked_at")  # a user requested a run now
    begun_at = models.DateTimeField(null=True)
    holder = models.CharField(max_length=100, blank=True)
    held_until = models.DateTimeField(null=True)  # end of the lease
    failures = models.PositiveIntegerField(default=0)  # since it last did well
    try_at = models.DateTimeField(null=True)  # after a failure: the earliest time of the next run
    output = models.CharField(max_length=500, blank=True, db_column="said")  # the last line it printed

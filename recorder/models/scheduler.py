"""What the clock knows of its daily jobs."""

from django.db import models


class DailyJob(models.Model):
    """One daily job: what is done, who runs it now; see `recorder.operations.scheduler`."""

    name = models.CharField(max_length=40, unique=True)
    done_at = models.DateTimeField()  # when the last run that did well began: what was due by then is done
    requested_at = models.DateTimeField(null=True, db_column="asked_at")  # a user requested a run now
    begun_at = models.DateTimeField(null=True)
    holder = models.CharField(max_length=100, blank=True)
    held_until = models.DateTimeField(null=True)  # end of the lease: after it the holder counts as gone
    failures = models.PositiveIntegerField(default=0)  # since it last did well
    try_at = models.DateTimeField(null=True)  # not before, after a failure
    output = models.CharField(max_length=500, blank=True, db_column="said")  # the last line it printed

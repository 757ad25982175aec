"""State of the daily jobs."""

from django.db import models


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

"""Costs: the columns that records share, prices, and sums."""

from django.db import models
from django.db.models.functions import Coalesce

from recorder.models.access import Project
from recorder.models.fields import JsonText

ID = 512  # characters of an id, by the protocol

# The literal lets SQLite use the index: it does not see that a parameter is the same.
KNOWN_COST = models.Func(
    models.F("cost_nano"), template="COALESCE(%(expressions)s, -1)", output_field=models.BigIntegerField()
)


class Tokens(models.Model):
    """Raw token counts in phi-core's names."""

    input_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    reasoning_tokens = models.BigIntegerField(default=0)
    cache_read_tokens = models.BigIntegerField(default=0)
    cache_write_tokens = models.BigIntegerField(default=0)
    total_tokens = models.BigIntegerField(default=0)
    cache_write_1h_tokens = models.BigIntegerField(default=0)

    class Meta:
        abstract = True


class Spend(Tokens):
    """Cost of calls, in nano-dollars; see `recorder.core.spend.Spend`."""

    uncached_tokens = models.BigIntegerField(null=True, default=0)
    visible_tokens = models.BigIntegerField(null=True, default=0)
    unreconciled = models.PositiveIntegerField(default=0)
    cost_nano = models.BigIntegerField(null=True)
    unpriced = models.PositiveIntegerField(default=0)
    cost_source = models.CharField(max_length=8, default="none")

    class Meta:
        abstract = True


class Call(Spend):
    """A call of a model; its provider may have run web searches, with a fee each."""

    web_searches = models.BigIntegerField(default=0, db_default=0)

    class Meta:
        abstract = True


class Price(models.Model):
    """Price of a model at a provider; see `recorder.core.money.prices.Price`.

    Rows are added, never changed: only `after_event` and `until_event` limit the calls they apply to, and a
    withdrawal adds the user and the time. `list_version` is the last version of the price list with the same
    prices; `edition` the first.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="prices")
    model = models.CharField(max_length=ID)
    provider = models.CharField(max_length=ID)
    is_own = models.BooleanField(default=False)
    edition = models.CharField(max_length=40, blank=True)
    list_version = models.CharField(max_length=40, blank=True)
    place = models.PositiveSmallIntegerField(default=0)  # in its edition
    valid_from = models.DateTimeField(null=True)
    daily = models.CharField(max_length=11, blank=True)
    after_event = models.BigIntegerField(default=0)
    until_event = models.BigIntegerField(null=True)
    bands = JsonText(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=200, blank=True)
    withdrawn_at = models.DateTimeField(null=True)
    withdrawn_by = models.CharField(max_length=200, default="", db_default="", blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("project", "model", "provider", "edition", "place"),
                condition=models.Q(is_own=False),
                name="one_listed_price",
            ),
        )
        indexes = (models.Index(fields=("project", "model", "provider"), name="price_of_model"),)


class Spending(models.Model):
    """Spending of a project in an hour or a day (UTC), with one config and agent in one ledger segment.

    Calls count when they ended; `loops`, their `errors` and the `failed` ones when the loop ended. The
    buckets are of calls that reconcile, `cost_nano` is of those that are `priced`.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="spending", db_index=False)
    span = models.CharField(max_length=4)  # hour | day
    start = models.DateTimeField()
    config = models.ForeignKey("ModelConfig", models.CASCADE, null=True, related_name="+", db_index=False)
    agent_id = models.CharField(max_length=ID, blank=True)
    segment = models.CharField(max_length=10, default="single")
    loops = models.BigIntegerField(default=0)
    failed = models.BigIntegerField(default=0)
    errors = models.BigIntegerField(default=0)
    turns = models.BigIntegerField(default=0)
    uncached_tokens = models.BigIntegerField(default=0)
    cache_read_tokens = models.BigIntegerField(default=0)
    cache_write_tokens = models.BigIntegerField(default=0)
    visible_tokens = models.BigIntegerField(default=0)
    reasoning_tokens = models.BigIntegerField(default=0)
    cost_nano = models.BigIntegerField(default=0)
    priced = models.BigIntegerField(default=0)
    reported = models.BigIntegerField(default=0)
    unpriced = models.BigIntegerField(default=0)
    unreconciled = models.BigIntegerField(default=0)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                "project", "span", "start", Coalesce("config", 0), "agent_id", "segment", name="one_spending"
            ),
        )


class Repricing(models.Model):
    """One "reprice history": who requested it, its progress and what it changed. Never deleted.

    Empty names mean every model. `position` is the key of the last processed record of `stage`.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="repricings")
    model = models.CharField(max_length=ID, blank=True)
    provider = models.CharField(max_length=ID, blank=True)
    requested_by = models.CharField(max_length=200, blank=True)
    requested_at = models.DateTimeField(auto_now_add=True)
    stage = models.CharField(max_length=8, default="turns")  # turns, loops, done
    position = models.BigIntegerField(default=0)
    processed = models.BigIntegerField(default=0, db_column="looked_at")  # calls
    changed = models.BigIntegerField(default=0)  # calls that have another cost
    change_nano = models.BigIntegerField(default=0)  # sum of all changes, nano-dollars
    finished_at = models.DateTimeField(null=True)

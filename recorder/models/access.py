"""Access: projects, their members, credentials, share links, and the read marks of users."""

from datetime import timedelta

from django.conf import settings
from django.db import models


class Projects(models.Manager["Project"]):
    """All projects but those that are deleted, and the hidden one, to which sessions belong meanwhile."""

    def get_queryset(self) -> models.QuerySet["Project"]:
        return super().get_queryset().exclude(slug=Project.DELETING).exclude(slug__startswith=Project.GONE)


class Project(models.Model):
    """A tenant: every record, URL and query belongs to one project.

    An archived project is read-only. Of a deleted one this row stays, without its name: its number is not
    given again, and entries of the audit log refer to it.
    """

    DELETING = ""  # slug of the project of sessions that are being deleted; no URL has it
    GONE = "~"  # begins the slug of a project that was deleted, or is being deleted; no URL has it

    slug = models.SlugField(max_length=64, unique=True)
    title = models.CharField(max_length=200, blank=True)
    retention_days = models.PositiveIntegerField(null=True, default=30)  # of bodies; null is "forever"
    record_days = models.PositiveIntegerField(null=True)  # of sessions, after their last event; likewise
    note_days = models.PositiveIntegerField(null=True)  # of notes, scores and bookmarks; likewise
    audit_days = models.PositiveIntegerField(null=True)  # of entries of the audit log; null is "forever"
    archived_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = Projects()
    every = models.Manager["Project"]()

    def __str__(self) -> str:
        return self.title or self.slug


class Membership(models.Model):
    """A user's access to a project."""

    class Role(models.TextChoices):
        VIEWER = "viewer"
        MEMBER = "member"
        ADMIN = "admin"

    project = models.ForeignKey(Project, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.MEMBER)
    from_claim = models.BooleanField(default=False)  # given by single sign-on, which changes and ends it

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "user"), name="one_membership"),)


class Invite(models.Model):
    """A link by which one person joins a project; only a hash of its secret is stored.

    It is open until it is used, withdrawn or expired. A new link of the same invite replaces the hash.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="invites")
    role = models.CharField(max_length=10, choices=Membership.Role.choices, default=Membership.Role.MEMBER)
    email = models.CharField(max_length=254, blank=True)  # of the invited person; "" if anyone may join
    secret_hash = models.CharField(max_length=64, unique=True)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    made_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
    used_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    withdrawn_at = models.DateTimeField(null=True, blank=True)


class Profile(models.Model):
    """The choices of a user for every browser."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="profile")
    time_zone = models.CharField(max_length=64, blank=True)  # IANA name; "" is that of the browser


class SignIn(models.Model):
    """A browser in which a user is signed in. It ends with its session of Django, and the session with it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="signins")
    session_key = models.CharField(max_length=40, unique=True)
    address = models.CharField(max_length=64, blank=True)
    agent = models.CharField(max_length=300, blank=True)  # User-Agent, as the browser sent it
    began_at = models.DateTimeField()
    seen_at = models.DateTimeField()  # to within five minutes


class AccessToken(models.Model):
    """A credential of a program: `lsk_<key>_<secret>`, of which only a hash of the secret is stored."""

    USED_WITHIN = timedelta(minutes=1)  # a use within it after another is not noted

    project = models.ForeignKey(Project, models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=200)
    key = models.CharField(max_length=32, unique=True)
    secret_hash = models.CharField(max_length=64)
    scopes = models.CharField(max_length=100)  # comma-separated: ingest, read
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)  # to the minute
    last_used_from = models.CharField(max_length=64, blank=True, default="", db_default="")  # the address
    revoked_at = models.DateTimeField(null=True, blank=True)
    replaced_by = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="replaces"
    )  # the token of the same name that a rotation made; this one expires soon


class Refusal(models.Model):
    """The newest request of a sender that was refused, of each token and error code."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="refusals")
    key = models.CharField(max_length=32, blank=True)  # of the token; "" if none of the project was sent
    code = models.CharField(max_length=40)
    status = models.PositiveIntegerField()  # of HTTP, or the close code of a socket
    path = models.CharField(max_length=200)
    message = models.CharField(max_length=300)
    at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "key", "code"), name="one_refusal"),)


class SignInLink(models.Model):
    """A one-time sign-in link; only a hash of the secret is stored."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    secret_hash = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)


class ShareLink(models.Model):
    """A link that shows one record to anyone who has it, read only; only a hash of the secret is stored.

    `target` is the primary key of a session, an evaluation or a saved view, or of the session whose loops are
    compared (0: sessions are). `query` names what is compared, or is the path and
    the query string of a view, as it was when the link was made. Numbers: a rebuild creates records again
    under the same keys.
    """

    class Kind(models.TextChoices):
        SESSION = "session", "Session"
        EVALUATION = "evaluation", "Evaluation"
        VIEW = "view", "Saved view"
        COMPARISON = "comparison", "Comparison"

    project = models.ForeignKey(Project, models.CASCADE, related_name="share_links", db_index=False)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    target = models.BigIntegerField()
    query = models.TextField(blank=True)
    secret_hash = models.CharField(max_length=64, unique=True)
    password = models.CharField(max_length=128, blank=True)  # hashed; "" asks for none
    event = models.BigIntegerField(null=True)  # frozen: the session is shown as of this event
    is_masked = models.BooleanField(default=True)  # with all candidate rules
    has_notes = models.BooleanField(default=False)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    openings = models.PositiveIntegerField(default=0)
    opened_at = models.DateTimeField(null=True)  # the last time

    class Meta:
        indexes = (models.Index(fields=("project", "kind", "target"), name="links_of_record"),)


class ShareOpening(models.Model):
    """An opening of a link that has an entry in the audit log. Deleted an hour later, by the next opening.

    `who` is the name of the user, or the address (of IPv6 the /64 network) of somebody unknown.
    """

    link = models.ForeignKey(ShareLink, models.CASCADE, related_name="+", db_index=False)
    who = models.CharField(max_length=200)
    at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("link", "who"), name="opening_noted_once"),)


class ReadMark(models.Model):
    """A failed loop that a user has seen. A later failure in its session is that of another loop."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    loop = models.BigIntegerField()  # a number: a rebuild creates records again under the same keys
    seen_at = models.DateTimeField()

    class Meta:
        db_table = "recorder_seen"  # the name from when the model was called Seen
        constraints = (models.UniqueConstraint(fields=("user", "loop"), name="seen_once"),)


class WasteReadMark(models.Model):
    """An alarm about waste that a user has seen. Numbers, as in `ReadMark`: waste is found again."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    loop = models.BigIntegerField()
    line = models.BigIntegerField()  # the one that made it an alarm
    seen_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("user", "loop", "line"), name="waste_seen_once"),)


class Mute(models.Model):
    """A row of the notification policy that a user has switched off."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="mutes")
    row = models.CharField(max_length=60)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("user", "row"), name="one_mute"),)

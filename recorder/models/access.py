"""Access: projects, their members, credentials, and the read marks of users."""

from django.conf import settings
from django.db import models


class Project(models.Model):
    """A tenant: every record, URL and query belongs to one project."""

    slug = models.SlugField(max_length=64, unique=True)
    title = models.CharField(max_length=200, blank=True)
    retention_days = models.PositiveIntegerField(null=True, default=30)  # of bodies; null is "forever"
    created_at = models.DateTimeField(auto_now_add=True)

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

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "user"), name="one_membership"),)


class AccessToken(models.Model):
    """A credential of a program: `lsk_<key>_<secret>`, of which only a hash of the secret is stored."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=200)
    key = models.CharField(max_length=32, unique=True)
    secret_hash = models.CharField(max_length=64)
    scopes = models.CharField(max_length=100)  # comma-separated: ingest, read
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)


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


class ReadMark(models.Model):
    """A failed loop that a user has seen. A later failure in its session is that of another loop."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    loop = models.BigIntegerField()  # a number: a rebuild creates records again under the same keys
    seen_at = models.DateTimeField()

    class Meta:
        db_table = "recorder_seen"  # its name when the model was called Seen
        constraints = (models.UniqueConstraint(fields=("user", "loop"), name="seen_once"),)


class Mute(models.Model):
    """A row of the notification policy that a user has switched off."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="mutes")
    row = models.CharField(max_length=60)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("user", "row"), name="one_mute"),)

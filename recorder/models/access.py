"""Who may come in: projects, their members, what they sign in with, and what each person has seen."""

from django.conf import settings
from django.db import models


class Project(models.Model):
    """The wall between tenants: every record, URL and query starts from one."""

    slug = models.SlugField(max_length=64, unique=True)
    title = models.CharField(max_length=200, blank=True)
    retention_days = models.PositiveIntegerField(null=True, default=30)  # of bodies; null is "for good"
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.title or self.slug


class Membership(models.Model):
    """Who may see a project."""

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
    """What a machine signs in with: `lsk_<key>_<secret>`, of which only a hash of the secret is kept."""

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


class SignInLink(models.Model):
    """A one-time way in; only a hash of the secret is kept."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    secret_hash = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)


class ReadMark(models.Model):
    """A failed loop that a user has seen. A later failure in its session is that of another loop."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    loop = models.BigIntegerField()  # a number: rebuilding makes records anew under the keys they had
    seen_at = models.DateTimeField()

    class Meta:
        db_table = "recorder_seen"  # its name when the model was called Seen
        constraints = (models.UniqueConstraint(fields=("user", "loop"), name="seen_once"),)


class Mute(models.Model):
    """A row of the notification policy that a person wants no notification for."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="mutes")
    row = models.CharField(max_length=60)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("user", "row"), name="one_mute"),)

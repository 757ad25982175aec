"""Saved views of the list pages, and which of them a person chose as default."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from recorder.models.access import Project


class SavedView(models.Model):
    """A named query of a list page: its filters, order and columns. Only its owner sees one for "me"."""

    class Page(models.TextChoices):
        SESSIONS = "sessions"
        SEARCH = "search"
        ATTENTION = "attention"
        EVALUATIONS = "evaluations"
        LEADERBOARD = "leaderboard"
        COSTS = "costs"
        COMPACTIONS = "compactions"

    class Visibility(models.TextChoices):
        ME = "me"
        PROJECT = "project"

    project = models.ForeignKey(Project, models.CASCADE, related_name="saved_views")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="saved_views")
    page = models.CharField(max_length=20, choices=Page.choices)
    name = models.CharField(max_length=80)
    slug = models.CharField(max_length=80, blank=True)  # of the name, for an address that a person types
    query = models.TextField(blank=True)  # query string without order, columns and position in the list
    sort = models.CharField(max_length=60, blank=True)
    columns = models.JSONField(default=list)
    visibility = models.CharField(max_length=10, choices=Visibility.choices, default=Visibility.ME)
    position = models.PositiveIntegerField(default=0)  # among those of the page that the same people see
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("project", "page", "name"),
                condition=Q(visibility="project"),
                name="one_project_view",
            ),
            models.UniqueConstraint(
                fields=("project", "page", "owner", "name"),
                condition=Q(visibility="me"),
                name="one_view_of_mine",
            ),
        )


class DefaultView(models.Model):
    """The view that the navigation of one person opens for a page."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    project = models.ForeignKey(Project, models.CASCADE, related_name="+")
    page = models.CharField(max_length=20, choices=SavedView.Page.choices)
    view = models.ForeignKey(SavedView, models.CASCADE, related_name="defaults")

    class Meta:
        constraints = (models.UniqueConstraint(fields=("user", "project", "page"), name="one_default_view"),)

"""The section on browser notifications: what the policy says, and what its reader has muted."""

from django import template
from django.contrib.auth.models import User

from dashboard.lifecycle.notification_policy import ROWS
from dashboard.notifications import queries

register = template.Library()


@register.inclusion_tag("notifications/section.html")
def notifications(user: User, path: str) -> dict[str, object]:
    """Draw the section on a page at `path`. One query."""
    muted = queries.muted(user)
    return {"rows": [(row, row.key in muted) for row in ROWS], "next": f"{path}#notifications"}

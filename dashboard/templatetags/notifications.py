"""Template tag for the section on browser notifications."""

from django import template
from django.contrib.auth.models import User

from dashboard.lifecycle.notification_policy import ROWS
from dashboard.notifications import queries

register = template.Library()


@register.inclusion_tag("notifications/section.html")
def notifications(user: User, path: str) -> dict[str, object]:
    """Render the policy and the user's switches on a page at `path`. One query."""
    muted = queries.muted(user)
    return {"rows": [(row, row.key in muted) for row in ROWS], "next": f"{path}#notifications"}

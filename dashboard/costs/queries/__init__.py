"""What the costs page reads."""

from dashboard.costs.queries.accounts import accounts
from dashboard.costs.queries.page import page, pages
from dashboard.costs.queries.prices import prices

__all__ = ("accounts", "page", "pages", "prices")

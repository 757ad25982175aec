"""What the costs page reads."""

from dashboard.costs.queries.accounts import accounts
from dashboard.costs.queries.overview import page, pages
from dashboard.costs.queries.prices import is_repricing_ahead, prices

__all__ = ("accounts", "is_repricing_ahead", "page", "pages", "prices")

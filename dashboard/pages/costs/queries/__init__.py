"""Database queries of the costs page."""

from dashboard.pages.costs.queries.overview import page, pages
from dashboard.pages.costs.queries.prices import is_repricing_ahead, prices
from dashboard.pages.costs.queries.reconciliation import accounts

__all__ = ("accounts", "is_repricing_ahead", "page", "pages", "prices")

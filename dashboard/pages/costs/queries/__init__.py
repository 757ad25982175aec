"""Database queries of the costs page."""

from dashboard.pages.costs.queries.overview import page, pages
from dashboard.pages.costs.queries.prices import has_own_price, is_repricing_ahead, prices
from dashboard.pages.costs.queries.reconciliation import accounts

__all__ = ("accounts", "has_own_price", "is_repricing_ahead", "page", "pages", "prices")

"""Database queries of the costs page."""

from dashboard.pages.costs.queries.overview import menus, page, pages
from dashboard.pages.costs.queries.prices import is_repricing_ahead, own_price, prices
from dashboard.pages.costs.queries.reconciliation import accounts

__all__ = ("accounts", "is_repricing_ahead", "menus", "own_price", "page", "pages", "prices")

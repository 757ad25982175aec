"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.costs import views

urlpatterns = [
    path("costs", views.index, name="costs"),
    path("costs.csv", views.download, {"suffix": "csv"}, name="costs-csv"),
    path("costs.json", views.download, {"suffix": "json"}, name="costs-json"),
    path("costs/accounts", views.accounts, name="costs-accounts"),
    path("costs/prices", views.set_price, name="costs-price"),
    path("costs/prices/withdraw", views.withdraw_price, name="costs-price-withdraw"),
    path("costs/reprice", views.reprice, name="costs-reprice"),
]

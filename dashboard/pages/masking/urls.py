"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.masking import views

urlpatterns = [
    path("settings/masking", views.index, name="masking"),
    path("settings/masking/rule", views.switch_rule, name="masking-rule"),
    path("settings/masking/pattern", views.add_pattern, name="masking-pattern"),
    path("settings/masking/pattern/switch", views.switch_pattern, name="masking-switch"),
    path("settings/masking/pattern/remove", views.remove_pattern, name="masking-remove"),
    path("settings/masking/test", views.test, name="masking-test"),
    path("settings/masking/try", views.dry_run, name="masking-try"),
]

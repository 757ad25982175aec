"""URLs of the page, under /p/<slug>/."""

from django.urls import path

from dashboard.pages.people import views

urlpatterns = [
    path("settings/members", views.index, name="people"),
    path("settings/members/<int:pk>/role", views.change_role, name="people-role"),
    path("settings/members/<int:pk>/remove", views.remove, name="people-remove"),
    path("settings/members/leave", views.leave, name="people-leave"),
    path("settings/invites/<int:pk>/renew", views.renew, name="people-renew"),
    path("settings/invites/<int:pk>/withdraw", views.withdraw, name="people-withdraw"),
]

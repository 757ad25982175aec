"""URLs of the page, under the root."""

from django.urls import path

from dashboard.pages.account import views

urlpatterns = [
    path("signin", views.signin, name="signin"),
    path("signin/<str:secret>", views.link, name="signin-link"),
    path("signout", views.signout, name="signout"),
    path("theme", views.theme, name="theme"),
]

"""URLs of the page, under the root."""

from django.conf import settings
from django.urls import path

from dashboard.pages.account import deletions, join, profile, users, views

if settings.LOOPSCOPE_SSO:
    from dashboard.pages.account.sign_in_methods import urls as methods_urls

    methods = [
        path("signin", views.signin, name="account_login"),
        *methods_urls.urlpatterns,
    ]  # django-allauth looks it up
else:
    methods = []

urlpatterns = [
    path("signin", views.signin, name="signin"),
    *methods,
    path("signin/<str:secret>", views.link, name="signin-link"),
    path("signout", views.signout, name="signout"),
    path("join/<str:secret>", join.join, name="join"),
    path("account", profile.account, name="account"),
    path("account/profile", profile.change, name="account-profile"),
    path("account/password", profile.change_password, name="account-password"),
    path("account/signins", profile.end_signin, name="account-signins"),
    path("users", users.index, name="users"),
    path("users/<int:pk>", users.change, name="users-change"),
    path("projects", users.create_project, name="projects-create"),
    path("projects/deleted/<int:pk>", deletions.progress, name="project-deletion"),
    path("theme", views.theme, name="theme"),
]

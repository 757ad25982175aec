"""Signing in and out, joining, the own account, and for superusers all users and projects."""

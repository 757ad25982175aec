"""The adapters of django-allauth, of the extra `sso`: imported only where it is installed."""

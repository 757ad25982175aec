"""Single sign-on, passkeys and one-time codes, of the extra `sso`: imported only where it is installed."""

"""The shell around every page: navigation, live sessions, number of open approvals and failures."""

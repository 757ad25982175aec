"""Share links: the page behind a link, the dialog that makes links, and the list of a project's links."""

"""Hub, viewers, panels and the page socket."""

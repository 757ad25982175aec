"""Live pages: hub, topics, viewers, panels and the page socket."""

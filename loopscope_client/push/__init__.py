"""Sends transcripts of this computer to a server, each line once: `loopscope-push`."""

"""The state of a client's delivery."""

from __future__ import annotations

from dataclasses import dataclass, field

from loopscope_client.transport.delivery import State


@dataclass(frozen=True, slots=True)
class Status:
    """Delivery state and counters of a client.

    `state` is open, idle, sending, waiting, unauthorized, forbidden or closed. Counters start at 0 with the
    client and count lines; `queued` also counts lines of earlier processes of the same producer.

    Example::

        status = client.status
        print(status.state, status.queued, status.error)
    """

    state: State
    error: str  # why the client waits, empty while it does not
    producer: str
    spool: str  # path of this producer's folder
    queued: int  # lines that are not stored yet, and scores
    queued_bytes: int
    sent: int  # lines that are stored
    rejected: int  # lines that the server rejected permanently, see its integrity page, and refused scores
    last_rejection: str
    cut: int  # events above the size limit, sent with shortened content
    retries: int
    renumbered: int  # lines sent again under new numbers, because the server had lost or used the old ones
    dropped: dict[str, int] = field(default_factory=dict)  # by event type: no room, or masking failed

    @property
    def ok(self) -> bool:
        """Return whether all events so far are stored or will be: none was dropped or rejected, none waits.

        Example::

            if not client.status.ok:
                print(client.status.error or client.status.last_rejection)
        """
        return self.state in ("open", "idle", "sending") and not self.dropped and not self.rejected

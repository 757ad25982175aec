"""What calls cost, as the events of a run tell it; the arithmetic is in `recorder/core/money`."""

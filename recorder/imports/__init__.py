"""Files of recorded runs, brought in through the same ingest as everything else."""

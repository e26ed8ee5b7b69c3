"""From noisy numbers to estimates and intervals: consistent with each other, and possible. Post-processing alone."""

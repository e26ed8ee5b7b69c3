"""What Spark has to show before it counts as supported: ``python -m tests.bench spark``."""

"""Spark as the owner's database, over Spark Connect."""

from dpsql.engines.spark.spark_engine import SparkEngine

__all__ = ["SparkEngine"]

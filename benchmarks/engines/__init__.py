"""What a row costs in Spark, Ray and other engines beside a plain loop; see docs/how-to/large-tables.md."""

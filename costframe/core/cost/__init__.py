"""What predictions cost: hard, soft, of every prefix; the report."""

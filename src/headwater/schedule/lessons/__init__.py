"""What visits leave in the calendar."""

"""From conditions to bits per bar."""

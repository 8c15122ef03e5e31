"""What runs did, as their owners read it, and what these ask for by hand."""

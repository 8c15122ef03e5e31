"""What rests on many simulations: search, walk-forward, Monte Carlo."""

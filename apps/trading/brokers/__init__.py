"""Brokers: the protocol, the paper broker, and the check whether a broker can be reached."""

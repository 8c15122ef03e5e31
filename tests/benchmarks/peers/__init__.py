"""Other people's backtesters, measured beside ours; nothing of the service imports them.

Each runs in a process of its own, ours too, so that their runs can take turns. The scripts that
run in the peers' environment import no package of this project.
"""

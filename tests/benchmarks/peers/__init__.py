"""Other backtesters, measured beside ours; the service imports none of them.

Each runs in a separate process, as ours does, so that their runs can take turns. The scripts in the
peers' environment import no package of this project.
"""

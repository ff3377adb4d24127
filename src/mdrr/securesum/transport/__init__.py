"""Secure sums over HTTP: a relay that passes on what it cannot read, and the roles that use it.

The state machines know nothing of this. Here are the sockets, the clocks and the files; needs the
extra `server`.
"""

"""The automation service: app connections, rotations, syncs, dynamic secrets, leases, and the clock that drives them.

It never forgets a credential that the outside world may already know.
"""

"""Everything in one process: every service, the gateway's edge, an embedded PostgreSQL and an in-process bus.

The same code as in a cluster; only the transport of messages and the hop behind the edge are shorter.
"""

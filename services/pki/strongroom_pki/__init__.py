"""The pki service: authorities, policies, profiles, certificates and their revocation, ACME, EST and alerts.

It never lets an authority's key leave it.
"""

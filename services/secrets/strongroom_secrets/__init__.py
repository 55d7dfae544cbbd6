"""The secrets service: folders, secrets and their versions.

A value is sealed to its row before it reaches the database, and leaves only to a caller whose rules allow it, after the
audit record of that reading is durable.
"""

"""What services say to each other: one file per speaking service, pydantic models, each with a version.

Within a version a model only gains optional fields.
"""

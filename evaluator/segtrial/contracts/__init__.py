"""The records that cross a border: what authors, containers, datasets and readers agree on.

Every record is frozen and refuses unknown keys. Each kind has a ``schema_version``; the JSON
Schemas published under ``docs/schemas`` are made from these classes and compared in CI.
"""

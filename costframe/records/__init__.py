"""Records in which somebody chose who was tested: which tests were made, and completion of those that were not.

docs/records.md explains it.
"""

"""Conversations about one row: what a model asks next, over HTTP, as a page for people, and as tools of agents.

docs/serving.md explains it.
"""

"""The steps that join the rooms: run a submission, check one, make results of a store.

A package rather than one file, so that each step has a place; `segtrial.pipeline.run` reads them
aloud. Importing the package itself loads nothing.
"""

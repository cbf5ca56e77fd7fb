"""Sealed container runs: the only part of segtrial that talks to a container engine.

`sandbox.open_sandbox` connects and cleans up after dead owners, `run.run_attempt` runs one
container on one case and reports what was seen, `failure.classify` says whose fault it was.
Nothing connects at import.
"""

"""Fixtures of this folder."""

from containers import base_image, bench, exchange_bench, exchange_sandbox, make_image, sandbox
from private_engine import private_engine

__all__ = [
    "base_image",
    "bench",
    "exchange_bench",
    "exchange_sandbox",
    "make_image",
    "private_engine",
    "sandbox",
]

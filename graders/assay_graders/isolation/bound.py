"""The exchange of this process, for proxies: Python calls their methods with nothing else."""

from __future__ import annotations

from .exchange import Exchange

__all__ = ["bind", "exchange", "refused"]


class _Bound:
    exchange: Exchange


def bind(exchange: Exchange) -> None:
    """Give all proxies of this process their exchange."""
    _Bound.exchange = exchange


def exchange() -> Exchange:
    """The exchange of this process."""
    return _Bound.exchange


def refused(code: str) -> BaseException:
    """A refusal to raise that the candidate, too, has a part in."""
    return _Bound.exchange.client.refuse(code)

"""Puts the driver's parts together: what a test's objects, and the candidate's, go through."""

from __future__ import annotations

from typing import Any

from .adapters import Adapters
from .arguments import Lent
from .backs import Backs
from .bound import bind
from .client import Client
from .coroutines import Coroutines
from .exchange import Exchange
from .forwarding import Forwarding
from .protocol import FILE, FREE, WROTE
from .references import References
from .test_side import TestSide

__all__ = ["assembled"]


def assembled(client: Client, config: dict[str, Any], modules: dict[str, bool]) -> Exchange:
    """The exchange of this process, over a client that is not yet connected to anything.

    `config` holds `base`, `forward` and `adapters`, `modules` are those that proxies stand for.
    """
    client.tests = config["base"]
    tests = TestSide(config["base"])
    lent = Lent(client, tests)
    references = References(client, lent, frozenset(modules))
    client.refer, client.resolve = references.refer, references.resolve
    client.describe_error = references.describe_error
    forwarding = Forwarding(client, config["forward"])
    exchange = Exchange(client, references, forwarding)
    bind(exchange)
    exchange.end_of_test = lent.files.forget
    exchange.adapters = Adapters(exchange, config["adapters"], modules)
    coroutines = Coroutines(client, exchange.take, exchange.take_over)
    references.coroutine, exchange.came_of = coroutines.stand_in, coroutines.came_of
    client.before = forwarding.before, coroutines.before
    backs = Backs(exchange, coroutines, lent, tests)
    client.answer_back = backs.answer
    client.notes.effects = {
        WROTE: backs.take_over,
        FILE: lent.files.take_over,
        FREE: lent.drop,
    }
    client.additions = lambda: [
        *references.places.additions(client.generation),
        *lent.files.changes(),
    ]
    return exchange

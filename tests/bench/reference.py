"""The reference model, built of simlib's parts: payments over a lossy network to a small server that keeps keys."""

from __future__ import annotations

import math

from simlib.policy.backoff import Backoff
from simlib.policy.retry import RetryPolicy
from simlib.trace import Recorder
from simlib.world.arrivals import arrive, poisson
from simlib.world.client import Client
from simlib.world.latency import Exponential
from simlib.world.link import Link
from simlib.world.luck import Luck
from simlib.world.server import Server
from simlib.world.store import KeyStore
from simlib.world.world import World

RATE = 80.0  # purchases a second
LOSS = 0.05  # of messages, each way
ONE_WAY = 0.02  # seconds, mean
SERVICE = 0.04  # seconds, mean
WORKERS = 4
PATIENCE = 1.0  # seconds a try may take
ATTEMPTS = 3
BASE, FACTOR, CAP = 0.2, 2.0, 5.0  # of the backoff, in seconds


def simulate(purchases: int, seed: int) -> Recorder:
    """Run the model to its end; returns what it logged."""
    world = World(Luck(seed))
    latency = Exponential(ONE_WAY)
    requests = Link(world, to="server", carries="request", latency=latency, loss=LOSS)
    replies = Link(world, to="phone", carries="reply", latency=latency, loss=LOSS)
    store = KeyStore(world)
    server = Server(world, work=store.pay, answer=replies.send, service=Exponential(SERVICE), workers=WORKERS)
    backoff = Backoff(BASE, FACTOR, CAP, jitter="full")
    policy = RetryPolicy(attempts=ATTEMPTS, deadline=math.inf, per_try=PATIENCE, backoff=backoff)
    phone = Client(world, policy=policy, send=requests.send)
    requests.connect(server.arrive)
    replies.connect(phone.receive)
    arrive(world.clock, poisson(world.luck, "purchases", RATE, purchases), phone.begin)
    world.clock.run()
    return world.recorder

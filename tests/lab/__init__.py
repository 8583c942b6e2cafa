"""A loopback world: the seven engines speak their wire protocols here, from the fixtures, with faults on demand."""

from tests.lab.server import Engine, Fault, Lab, Seen, Wall

__all__ = ["Engine", "Fault", "Lab", "Seen", "Wall"]

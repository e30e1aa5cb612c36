"""Simulated parts on SimPy: links, servers, stores, brokers, clients, consumers."""

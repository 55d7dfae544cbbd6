"""Builders, contract suites, real servers on private ports, fault points: what tests of every service share."""

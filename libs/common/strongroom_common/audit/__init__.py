"""The trail: no value leaves and no change is acknowledged before its audit record is durable."""

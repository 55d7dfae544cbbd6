"""How services speak: events (a fact), commands (do this), queries (tell me). One port, two transports."""

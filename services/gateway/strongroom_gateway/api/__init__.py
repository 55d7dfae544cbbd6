"""HTTP in: the edge, which every request passes, and the few pages that are the gateway's own."""

"""HTTP in: endpoint declarations, the pipeline every request walks, errors, OpenAPI, the route inventory."""

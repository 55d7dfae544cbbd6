"""What every service is made of: small, layered folders; a folder imports only those below it."""

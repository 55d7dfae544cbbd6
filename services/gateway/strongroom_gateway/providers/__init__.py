"""Where a request can go: to a service over HTTP, or through the door of one in the same process."""

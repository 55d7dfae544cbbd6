"""What every test may ask for."""

pytest_plugins = ["strongroom_common.testing.fixtures"]

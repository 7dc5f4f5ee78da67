"""A model provider for tests: four wire formats on one port, answers by script. `python -m provider --port N`."""

"""A method for the tests: gradient descent on a quadratic, installed as a distribution of its own by conftest.py."""

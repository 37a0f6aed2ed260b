"""Tests of the rules at the point of action."""

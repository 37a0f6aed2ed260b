"""Tests of the stores and of the protocol between them and memory directories."""

"""Tests of session notes."""

"""Judges: who answers questions about visible replies, and how their answers are read."""

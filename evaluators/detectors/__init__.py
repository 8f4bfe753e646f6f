"""Detectors of use: does a reply use a fact? They see two texts and nothing else."""

"""Builders: new scenario files from given ones, each working without a model as far as its construction allows."""

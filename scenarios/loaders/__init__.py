"""One module per file format; each has an `open_…` function that takes a LoadRequest and gives a ScenarioSource."""

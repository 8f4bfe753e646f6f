"""The trained memory-slot planner: features, weights, choosing of sets, fitting. See docs/planning.md."""

"""The nodes of the state machines: of WRITE and READ graphs, and of the assistant graph."""

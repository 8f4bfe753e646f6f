"""The conformance kit: contracts that every memory keeps, checked over a factory of memories.

`mnemoscope architecture check` runs it; in tests, use `mnemoscope.graphs.conformance.pytest_adapter`.
"""

from mnemoscope.graphs.conformance.kit import Kit, check_conformance, run_conformance
from mnemoscope.graphs.conformance.material import conformance_ports
from mnemoscope.graphs.conformance.report import ConformanceReport, ConformanceRow

__all__ = [
    "ConformanceReport",
    "ConformanceRow",
    "Kit",
    "check_conformance",
    "conformance_ports",
    "run_conformance",
]

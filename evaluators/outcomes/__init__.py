"""What users did and how they rated it: outcomes of logged sessions, beside the metrics of their replies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemoscope.core.lazy import lazy_names

if TYPE_CHECKING:
    from mnemoscope.evaluators.outcomes.behaviour import (
        Changes,
        Rate,
        ReProvisions,
        Uptake,
        length_changes,
        re_provides,
        re_provisions,
        return_rate,
        uptake,
    )
    from mnemoscope.evaluators.outcomes.length import LengthAdjusted, LengthRow, length_adjusted
    from mnemoscope.evaluators.outcomes.reading import read_outcomes
    from mnemoscope.evaluators.outcomes.records import Moment, SessionKey, SessionOutcome
    from mnemoscope.evaluators.outcomes.relation import Band, Relation, relate
    from mnemoscope.evaluators.outcomes.satisfaction import WithinUser, within_user
    from mnemoscope.evaluators.outcomes.table import OutcomeTable, outcome_table

__all__ = [
    "Band",
    "Changes",
    "LengthAdjusted",
    "LengthRow",
    "Moment",
    "OutcomeTable",
    "Rate",
    "ReProvisions",
    "Relation",
    "SessionKey",
    "SessionOutcome",
    "Uptake",
    "WithinUser",
    "length_adjusted",
    "length_changes",
    "outcome_table",
    "re_provides",
    "re_provisions",
    "read_outcomes",
    "relate",
    "return_rate",
    "uptake",
    "within_user",
]

__getattr__ = lazy_names(
    __name__,
    {
        "Band": "relation",
        "Changes": "behaviour",
        "LengthAdjusted": "length",
        "LengthRow": "length",
        "Moment": "records",
        "OutcomeTable": "table",
        "Rate": "behaviour",
        "ReProvisions": "behaviour",
        "Relation": "relation",
        "SessionKey": "records",
        "SessionOutcome": "records",
        "Uptake": "behaviour",
        "WithinUser": "satisfaction",
        "length_adjusted": "length",
        "length_changes": "behaviour",
        "outcome_table": "table",
        "re_provides": "behaviour",
        "re_provisions": "behaviour",
        "read_outcomes": "reading",
        "relate": "relation",
        "return_rate": "behaviour",
        "uptake": "behaviour",
        "within_user": "satisfaction",
    },
)

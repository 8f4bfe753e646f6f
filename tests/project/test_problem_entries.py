"""Where each known problem of judges, metrics and comparisons is tested: one line per entry, checked to be true.

An entry is a problem that users of such tools have met: `JD` of judges and rubrics, `MT` of metrics, `RP` of reports
and fair comparison. Its failing input, where it has one, lies in `tests/cases/<entry>/`; a test named here reads it.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
JUDGES, METRICS, FRONT = "evaluators/judges", "evaluators/metrics", "front_door"

TESTED: dict[str, tuple[str, ...]] = {
    # A letter is the first matching character of the reply.
    "JD-01": (
        f"{JUDGES}/test_parsing_labels.py::test_letters_are_whole_tokens_said_as_a_verdict",
        f"{JUDGES}/test_llm_judge.py::test_letters_are_whole_tokens",
        f"{JUDGES}/test_parsing_release.py::test_the_first_letter_reading_turns_answers_into_a",
    ),
    # Yes and no are read as substrings or prefixes.
    "JD-02": (
        f"{JUDGES}/test_parsing_labels.py::test_yes_and_no_are_tokens_with_negation",
        f"{JUDGES}/test_llm_judge.py::test_yes_and_no_are_tokens_not_substrings",
        f"{JUDGES}/test_llm_judge.py::test_released_parsers_reproduce_their_errors",
    ),
    # A cut or empty reply of the judge counts as a no.
    "JD-03": (
        f"{JUDGES}/test_parsing_reading.py::test_a_cut_empty_refused_or_filtered_reply_is_no_verdict",
        f"{JUDGES}/test_llm_judge.py::test_a_cut_or_empty_reply_is_never_a_no",
        f"{FRONT}/test_judge_steadiness.py::test_failed_judgements_are_in_the_headline_and_fail_the_run",
        f"{FRONT}/test_judge_steadiness.py::test_the_threshold_is_a_choice",
    ),
    # Fences, Python booleans, commas and escapes end an evaluation.
    "JD-04": (
        f"{JUDGES}/test_parsing_numbers.py::test_slips_of_form_are_mended_and_counted_and_wrong_values_are_not",
        f"{JUDGES}/test_llm_judge.py::test_format_slips_are_mended_and_wrong_types_are_not",
    ),
    # A judge's failure becomes NaN, 0 or a failed item.
    "JD-05": (
        f"{JUDGES}/test_parsing_missing.py::test_missing_scores_are_their_own_state",
        f"{FRONT}/test_honest_figures.py::test_undefined_figures_are_null_with_a_reason",
    ),
    # The reply tells the judge what to say.
    "JD-06": (
        f"{JUDGES}/test_offline_judge.py::test_words_to_the_grader_are_never_an_answer",
        f"{JUDGES}/test_injection.py::test_the_known_case",
        f"{JUDGES}/test_fencing.py::test_the_code_stands_in_no_part_and_is_the_same_each_time",
        f"{JUDGES}/test_llm_attacks.py::test_no_attack_flips_a_verdict",
        f"{JUDGES}/test_llm_attacks.py::test_the_rate_of_steered_canaries_is_measured",
    ),
    # Phrases of memory earn credit without facts.
    "JD-08": (
        f"{JUDGES}/test_offline_judge.py::test_phrases_of_recall_earn_nothing",
        f"{METRICS}/test_cue.py::test_wording_and_facts_of_the_case",
        f"{METRICS}/test_policies.py::test_the_phrase_earns_wording_and_nothing_else",
    ),
    # Long answers and lists of guesses mislead the judge.
    "JD-09": (
        f"{JUDGES}/test_offline_judge.py::test_long_answers_are_judged_by_their_end_and_lists_of_guesses_are_wrong",
        "evaluators/test_reply_metrics.py::test_a_short_right_answer_beats_a_shotgun_list",
        f"{FRONT}/test_unequal_rows.py::test_what_a_reply_was_given_is_shown",
        "evaluators/calibration/test_calibrating.py::test_own_model_length_and_drift",
    ),
    # Always refusing scores well.
    "JD-10": (
        "evaluators/test_reply_metrics.py::test_always_refusing_pays_on_adversarial_questions_only",
        f"{METRICS}/test_policies.py::test_refusing_buys_the_category_that_rewards_it_and_no_other",
        "evaluators/analyses/test_policy_floors.py::test_a_system_that_is_a_policy_is_not_better_than_it",
    ),
    # A list of verdicts on facts is shorter, longer or reordered.
    "JD-11": (
        f"{JUDGES}/test_parsing_listing.py::test_shorter_longer_and_reordered_lists",
        f"{JUDGES}/test_llm_judge.py::test_facts_are_joined_by_number",
        f"{JUDGES}/test_llm_judge.py::test_a_second_asking_fills_in_the_fact_that_was_missing",
        f"{METRICS}/test_atomic.py::test_answers_are_joined_by_id_whatever_their_order",
    ),
    # The same input gets another verdict on the next run.
    "JD-12": (
        f"{JUDGES}/test_llm_judge.py::test_the_majority_of_three_votes_stands_with_its_share",
        f"{FRONT}/test_judge_steadiness.py::test_differences_inside_the_flip_band_are_no_wins",
        f"{FRONT}/test_judge_steadiness.py::test_rate_and_band_are_those_of_the_votes",
        f"{FRONT}/test_judge_steadiness.py::test_equal_replies_stay_inside_the_band",
        "evaluators/calibration/test_calibrating.py::test_repeats_show_how_often_a_judge_contradicts_itself",
    ),
    # A lenient judge is not measured.
    "JD-14": (
        "evaluators/calibration/test_calibrating.py::test_agreement_by_hand_with_failures_outside_it",
        f"{FRONT}/test_judge_command.py::test_a_calibration_shows_beside_its_metric_and_no_other",
        f"{FRONT}/test_compare_table.py::test_uncalibrated_judges_say_so",
        f"{FRONT}/test_judge_steadiness.py::test_an_uncalibrated_judge_stands_out",
    ),
    # A hedge, a refusal and a correction are mixed up.
    "JD-15": (
        f"{JUDGES}/test_offline_judge.py::test_corrections_keep_their_three_levels",
        "evaluators/test_reply_metrics.py::test_correction_keeps_hedge_refusal_and_truth_apart",
    ),
    # The reference is cut at 300 characters.
    "JD-16": (
        f"{JUDGES}/test_offline_judge.py::test_the_end_of_a_long_reference_counts",
        f"{JUDGES}/test_llm_judge.py::test_the_expected_text_is_whole_unless_a_cut_is_asked_for",
        f"{JUDGES}/test_parsing_release.py::test_expected_texts_are_cut_in_one_mode_only",
    ),
    # No gold evidence counts as recall 0.
    "MT-01": (
        "evaluators/test_retrieval_metrics.py::test_rows_without_gold_leave_the_mean_alone",
        f"{METRICS}/test_ranked.py::test_rows_without_gold_leave_the_mean_alone",
    ),
    # Whether errors are in the denominator cannot be seen.
    "MT-02": (
        "evaluators/test_aggregate.py::test_errors_stay_in_the_strict_denominator",
        f"{FRONT}/test_compare_summary.py::test_failures_are_outside_the_mean_and_inside_the_strict_figure",
    ),
    # Missing replies shrink n.
    "MT-03": (
        "evaluators/test_aggregate.py::test_missing_cells_are_counted_against_completeness",
        f"{FRONT}/test_import.py::test_missing_and_unknown_instances_are_counted_and_listed",
        f"{FRONT}/test_compare_summary.py::test_missing_cells_are_counted_and_never_called_complete",
    ),
    # Micro and macro figures are confused.
    "MT-04": (
        "evaluators/test_aggregate.py::test_the_whole_is_the_micro_rate_and_strata_are_their_own",
        "evaluators/test_aggregate.py::test_micro_and_macro_are_two_named_rows",
        f"{FRONT}/test_honest_figures.py::test_micro_and_macro_are_both_printed_and_named",
    ),
    # NaN or Infinity in JSON.
    "MT-05": (
        f"{FRONT}/test_honest_figures.py::test_undefined_figures_are_null_with_a_reason",
        f"{FRONT}/test_honest_figures.py::test_exports_are_strict_json_too",
        f"{FRONT}/test_compare_summary.py::test_the_json_has_the_documented_shape_and_no_nan",
        f"{FRONT}/test_compare_summary.py::test_what_json_cannot_hold_is_null",
    ),
    # Small samples, ties, labels of one class.
    "MT-07": (
        "evaluators/test_statistics.py::test_small_samples_and_ties",
        "evaluators/test_statistics_agreement.py::test_one_class_has_no_kappa",
        f"{FRONT}/test_judge_steadiness.py::test_what_is_not_shown_is_said_to_be_not_shown",
    ),
    # Metrics of strategic use on empty sets.
    "MT-08": ("evaluators/test_strategic_metrics.py::test_every_combination_of_present_and_used",),
    # Proactive recall: whether and when.
    "MT-09": (
        "evaluators/test_reply_metrics.py::test_proactive_recall_whether_and_when",
        f"{METRICS}/test_negatives.py::test_what_cannot_be_read_is_invalid_and_never_fabricated",
        f"{METRICS}/test_negatives.py::test_the_three_rates_add_up_to_the_unprompted_one",
    ),
    # A score above what the gold allows.
    "MT-10": (
        f"{FRONT}/test_honest_figures.py::test_a_score_above_what_the_gold_allows_is_flagged",
        f"{FRONT}/test_honest_figures.py::test_a_score_within_the_ceiling_is_not_flagged",
    ),
    # Unequal conditions in one table.
    "RP-01": (
        f"{FRONT}/test_unequal_rows.py::test_other_conditions_are_marked_on_the_row",
        f"{FRONT}/test_unequal_rows.py::test_what_a_reply_was_given_is_shown",
        f"{FRONT}/test_unequal_rows.py::test_imported_rows_stand_apart_and_are_never_ranked",
        f"{FRONT}/test_compare_summary.py::test_a_name_under_other_settings_is_a_row_of_its_own",
    ),
    # Missing baselines.
    "RP-02": (
        f"{FRONT}/test_unequal_rows.py::test_the_usual_comparison_has_its_baselines",
        f"{FRONT}/test_unequal_rows.py::test_gaps_to_no_memory_and_to_the_oracle_are_shown_by_stratum",
    ),
    # No way to see why an item failed.
    "RP-03": (
        f"{FRONT}/test_probe_view.py::test_a_probe_shows_everything_that_explains_it",
        f"{FRONT}/test_report_page.py::test_each_probe_shows_what_was_stored_given_planned_said_and_judged",
        f"{FRONT}/test_probe_view.py::test_one_command_shows_any_probe",
    ),
    # A report too heavy to open.
    "RP-04": (
        f"{FRONT}/test_probe_view.py::test_a_run_of_heavy_traces_gives_a_light_page",
        f"{FRONT}/test_report_page.py::test_the_page_has_its_parts_and_loads_nothing",
        f"{FRONT}/test_report_page.py::test_a_large_run_shows_the_worst_probes_and_counts_the_rest",
    ),
    # Other numbers for the same claim in other places.
    "RP-05": (
        f"{FRONT}/test_probe_view.py::test_all_forms_say_the_same_and_a_stale_page_is_found",
        f"{FRONT}/test_probe_view.py::test_a_page_of_another_version_or_program_is_not_current",
    ),
}

NOT_TESTED: dict[str, str] = {}
"""Entry to the reason why no test can say that it is right."""

ENTRIES = frozenset(
    [f"JD-{n:02}" for n in (1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 14, 15, 16)]
    + [f"MT-{n:02}" for n in (1, 2, 3, 4, 5, 7, 8, 9, 10)]
    + [f"RP-{n:02}" for n in range(1, 6)]
)


@lru_cache(maxsize=64)
def functions_of(file: str) -> dict[str, str]:
    """Name of each test of a file to its source."""
    text = (TESTS / file).read_text(encoding="utf-8")
    found = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {node.name: ast.get_source_segment(text, node) or "" for node in found if node.name.startswith("test_")}


def test_every_entry_has_its_line() -> None:
    assert TESTED.keys() | NOT_TESTED.keys() == ENTRIES
    assert not TESTED.keys() & NOT_TESTED.keys()
    assert all(tests for tests in TESTED.values()) and all(len(why) > 20 for why in NOT_TESTED.values())


@pytest.mark.parametrize("entry", sorted(TESTED))
def test_each_named_test_exists_and_asserts(entry: str) -> None:
    for node in TESTED[entry]:
        file, _, name = node.partition("::")
        assert name in functions_of(file), f"{node} of {entry} is not there"
        assert "assert " in functions_of(file)[name] or "raises(" in functions_of(file)[name], f"{node} asserts nothing"


@pytest.mark.parametrize("entry", sorted(e for e in ENTRIES if (TESTS / "cases" / e).is_dir()))
def test_each_case_is_read_by_a_test_of_its_entry(entry: str) -> None:
    named = [(TESTS / node.partition("::")[0]).read_text(encoding="utf-8") for node in TESTED[entry]]
    sources = [functions_of(file)[name] for file, _, name in (node.partition("::") for node in TESTED[entry])]
    assert any(f'"{entry}"' in source for source in sources) or any(f'case_dir("{entry}")' in text for text in named)

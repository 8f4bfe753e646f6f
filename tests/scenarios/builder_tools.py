"""A small source scenario that the builder tests share: two people, four sessions, questions with evidence."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from mnemoscope.core.identity import ProbeId, ScenarioId, SessionId, TurnId
from mnemoscope.scenarios.records import Card, Cut, Gold, GoldFact, Participant, Probe, Role, Scenario, Session, Turn

CARD = Card(benchmark="made", source="https://example.org", licence="CC0", annotation="By hand.", file="made.json")

TALK = (
    (
        ("Mira", "I planted a quince tree behind the old stable in Ghent yesterday."),
        ("Tomasz", "That sounds like patient work, how long until it bears anything?"),
        ("Mira", "The gardener promised quince jelly in four years, if the stable goats behave."),
        ("Tomasz", "I would not trust goats with a young tree in any stable."),
    ),
    (
        ("Tomasz", "I started playing the accordion again, my grandfather's red accordion."),
        ("Mira", "I remember hearing it at the wedding, it was terribly loud."),
        ("Tomasz", "My neighbours agree, they moved their bedroom to the other side of the house."),
        ("Mira", "I have a recipe for walnut bread that needs testing this weekend."),
    ),
    (
        ("Mira", "Guess what, the goats ate my quince tree behind the stable in Ghent."),
        ("Tomasz", "No jelly then, I am sorry about the quince tree."),
        ("Mira", "I will plant lavender this time, goats dislike the smell of lavender."),
        ("Tomasz", "My accordion teacher says I should practise scales every morning."),
    ),
    (
        ("Tomasz", "I played my grandfather's red accordion at the market today."),
        ("Mira", "Did anybody throw coins into the case?"),
        ("Tomasz", "Seven euros and a walnut, the walnut came from a child."),
        ("Mira", "I hope you kept the walnut for my bread."),
    ),
)


def made(name: str = "made", talk: tuple[tuple[tuple[str, str], ...], ...] = TALK, role: Role = "peer") -> Scenario:
    start = datetime(2024, 3, 1, 9, tzinfo=UTC)
    sessions, index = [], 0
    for number, lines in enumerate(talk, 1):
        at = start + timedelta(days=7 * number)
        turns = []
        for place, (speaker, text) in enumerate(lines, 1):
            turns.append(
                Turn(
                    turn_id=TurnId(f"D{number}:{place}"),
                    session_id=SessionId(f"session_{number}"),
                    index=index,
                    speaker=speaker,
                    role=role,
                    text=text,
                    at=at + timedelta(seconds=place),
                )
            )
            index += 1
        sessions.append(Session(session_id=SessionId(f"session_{number}"), at=at, turns=tuple(turns)))
    questions = [
        ("q0", "What did Mira plant behind the stable in Ghent?", "quince tree", ("D1:1",)),
        ("q1", "Which instrument did Tomasz play again after years?", "grandfather's red accordion", ("D2:1",)),
        ("q2", "What does Mira plant because goats dislike its smell?", "lavender", ("D3:3",)),
    ]
    people = dict.fromkeys(speaker for lines in talk for speaker, _ in lines)
    last = sessions[-1].turns[-1]
    probes = [
        Probe(
            probe_id=ProbeId(f"{name}/{key}"),
            style="question",
            speaker="asker",
            text=text,
            cut=Cut(seq=index, turn_id=last.turn_id),
            now=last.at,
        )
        for key, text, _, _ in questions
    ]
    golds = {
        ProbeId(f"{name}/{key}"): Gold(
            answers=(answer,), evidence=evidence, facts=(GoldFact(fact_id=key, text=answer, sources=evidence),)
        )
        for key, _, answer, evidence in questions
    }
    return Scenario(
        scenario_id=ScenarioId(name),
        benchmark="made",
        cluster=name,
        participants=tuple(Participant(name=person, role=role) for person in people),
        sessions=tuple(sessions),
        probes=tuple(probes),
        gold_by_probe=golds,
        card=CARD,
    )


OTHER_TALK = (
    (
        ("Mira", "I broke my left ankle while skating on the frozen canal near Leuven."),
        ("Tomasz", "I bought a second-hand telescope to watch Saturn from the roof."),
    ),
    (
        ("Mira", "I can finally walk to the bakery without crutches this Tuesday."),
        ("Tomasz", "I saw four moons of Jupiter through the telescope last night."),
    ),
    (("Mira", "It rained all day."), ("Tomasz", "The roof leaks above the kitchen.")),
    (("Mira", "Good night then."), ("Tomasz", "Sleep well.")),
)

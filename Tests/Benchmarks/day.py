"""One day of a busy box as a scenario of `btcall-lab replay`, for scripts/bench: calls every two minutes, with headsets that
come, go, drop and fall silent, a jack, choices, holds. The same text on every machine.

Usage: day.py > FILE
"""

import json

DAY = 24 * 60 * 60 * 1000
EVERY = 2 * 60 * 1000

# One call: milliseconds after its beginning, and the step. {call} and {other} are filled in.
CALL = [
    (0, {"do": "call.incoming", "call": "{call}"}),
    (1500, {"expect": {"ring": {"local": True}, "route": "none"}}),
    (4000, {"do": "call.answered", "call": "{call}"}),
    (5000, {"expect": {"route": "bluetooth:H1", "pending": "none"}}),
    (8000, {"do": "bt.audioSilent", "addr": "H1"}),
    (8000, {"expect": {"route": "earpiece", "reason": "linkSilent"}}),
    (8300, {"do": "bt.audioResumed", "addr": "H1"}),
    (10000, {"expect": {"route": "bluetooth:H1"}}),
    (12000, {"do": "api.select", "device": "speakerphone"}),
    (12100, {"expect": {"route": "speakerphone", "reason": "userSelection", "override": "speakerphone"}}),
    (15000, {"do": "api.clearSelection"}),
    (16000, {"expect": {"route": "bluetooth:H1"}}),
    (20000, {"do": "jack.plugged", "mic": True}),
    (21000, {"do": "jack.unplugged"}),
    (22000, {"do": "call.held", "call": "{call}"}),
    (25000, {"do": "call.resumed", "call": "{call}"}),
    (30000, {"do": "bt.audioClosed", "addr": "H1", "reason": "linkLoss"}),
    (31000, {"expect": {"route": "bluetooth:H1", "reason": "linkLoss"}}),
    (40000, {"do": "bt.disconnected", "addr": "H1"}),
    (40300, {"expect": {"route": "bluetooth:H2", "reason": "oldDeviceUnavailable"}}),
    (41000, {"expect": {"route": "bluetooth:H2", "reason": "oldDeviceUnavailable"}}),
    (45000, {"do": "bt.connected", "addr": "H1"}),
    (47900, {"expect": {"route": "bluetooth:H1"}}),
    (48000, {"do": "call.incoming", "call": "{other}"}),
    (50000, {"do": "call.ended", "call": "{other}"}),
    (52000, {"do": "bt.audioClosed", "addr": "H1", "reason": "remote"}),
    (52100, {"expect": {"route": "earpiece", "override": "local"}}),
    (55000, {"do": "bt.audioOpened", "addr": "H1"}),
    (55100, {"expect": {"route": "bluetooth:H1", "reason": "headsetTransfer"}}),
    (60000, {"do": "call.ended", "call": "{call}"}),
    (61000, {"expect": {"route": "none", "reason": "callEnded", "silenceMaxMs": 2000}}),
]


def filled(step, number):
    return {
        key: value.format(call=f"c{number}", other=f"w{number}") if isinstance(value, str) else value
        for key, value in step.items()
    }


steps = [
    {"t": number * EVERY + offset, **filled(step, number)} for number in range(DAY // EVERY) for offset, step in CALL
]
scenario = {
    "id": "D001",
    "title": "One day: a call every two minutes",
    "given": {
        "headsets": {"H1": {}, "H2": {"inband": False}},
        "connected": ["H2", "H1"],
        "preferred": "bluetooth",
        "default": "earpiece",
        "config": {"headsetOrder": ["H1", "H2"]},
    },
    "steps": steps,
}
print('{"format": "btcall-scenario/1", "scenarios": [')
print(json.dumps(scenario))
print("]}")

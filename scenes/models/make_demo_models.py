#!/usr/bin/env python3
"""Makes mannequin.glb and collider_zoo.glb beside this file: models small enough to know every joint by name.

    python3 scenes/models/make_demo_models.py

Right-handed, +Y up, characters face +Z, left is +X; metres. Every bone of a costume runs along -Y of its joint, and
+Z of its joint points away from the body, so that one interval of angles means the same for each chain around a ring.
"""

import math
import sys
from pathlib import Path

# A folder of models is no place for compiled Python.
sys.dont_write_bytecode = True

from demo_gltf import IDENTITY, Model, multiply, turn  # noqa: E402

RATE = 30
LICENCE = "the flounce project; MIT OR Apache-2.0"
SIDES = (("l", 1), ("r", -1))

# The sphere that the hair lies around, in head space; the hair's roots are HAIR_GAP outside of it.
SKULL_HEIGHT, SKULL_RADIUS, HAIR_GAP = 0.10, 0.11, 0.015


def chain(model, parent, names, at, yaw, bones, box):
    """Adds joints from `at` on, each with a bone (degrees outward from straight down, length); the last name ends it.

    `box` gives the box of bone k of a length.
    """
    before = 0
    for k, (tilt, length) in enumerate(bones):
        rotation = turn(x=before - tilt)
        if k == 0:
            rotation = multiply(turn(y=yaw), rotation)
        parent = model.node(names[k], parent, at, rotation, box(k, length))
        at, before = (0, -length, 0), tilt
    model.node(names[-1], parent, at)


def strip(material, width, thickness, widening=0.0):
    """Flat boxes as long as their bones, less a gap in which one sees the joint."""

    def box(k, length):
        half = (width + widening * k) / 2
        return (material, (-half, -length * 0.94, -thickness / 2), (half, -length * 0.02, thickness / 2))

    return box


# -- mannequin ---------------------------------------------------------------------------------------------------------


def body(model):
    """The joints that clips move."""
    part = model.node
    part("hips", None, (0, 0.95, 0), box=("body", (-0.12, -0.08, -0.085), (0.12, 0.08, 0.085)))
    part("spine", "hips", (0, 0.10, 0), box=("body", (-0.10, 0, -0.075), (0.10, 0.12, 0.075)))
    part("chest", "spine", (0, 0.13, 0), box=("body", (-0.13, 0, -0.085), (0.13, 0.18, 0.085)))
    part("neck", "chest", (0, 0.18, 0), box=("body", (-0.035, 0, -0.035), (0.035, 0.09, 0.035)))
    part("head", "neck", (0, 0.08, 0), box=("body", (-0.07, 0, -0.09), (0.07, 0.205, 0.09)))
    for side, sign in SIDES:
        part(f"leg_{side}", "hips", (sign * 0.09, -0.05, 0), box=("body", (-0.06, -0.41, -0.06), (0.06, 0.02, 0.06)))
        part(f"knee_{side}", f"leg_{side}", (0, -0.42, 0), box=("body", (-0.045, -0.39, -0.045), (0.045, 0, 0.045)))
        part(f"ankle_{side}", f"knee_{side}", (0, -0.40, 0), box=("body", (-0.04, -0.08, -0.06), (0.04, 0.02, 0.16)))
    for side, sign in SIDES:
        # A slight A pose: wide sleeves need room beside the hips.
        tilt = turn(z=sign * 14)
        box = ("body", (-0.038, -0.26, -0.038), (0.038, 0.03, 0.038))
        part(f"arm_{side}", "chest", (sign * 0.16, 0.14, 0), tilt, box)
        part(f"forearm_{side}", f"arm_{side}", (0, -0.27, 0), box=("body", (-0.03, -0.23, -0.03), (0.03, 0, 0.03)))
        part(f"hand_{side}", f"forearm_{side}", (0, -0.24, 0), box=("body", (-0.015, -0.16, -0.04), (0.015, 0, 0.04)))


def skirt(model):
    """Eight chains from the front by the left; flat, flared, 0.16 m wide at the top and 0.23 m at the hem."""
    top, hem, length = 0.16, 0.23, 0.17
    flare = math.degrees(math.asin((hem - top) / (3 * length)))
    for k in range(8):
        yaw = math.radians(45 * k)
        names = [f"skirt_{k}_{level}" for level in range(4)]
        at = (top * math.sin(yaw), 0.02, top * math.cos(yaw))
        chain(model, "hips", names, at, 45 * k, [(flare, length)] * 3, strip("cloth", 0.12, 0.01, widening=0.03))


def hair(model):
    """Six chains around the skull: the bone at the root is a chord of the sphere on which the roots lie."""

    def lock(names, azimuth, elevation, lengths, tilts):
        radius = SKULL_RADIUS + HAIR_GAP
        out, up = radius * math.cos(math.radians(elevation)), radius * math.sin(math.radians(elevation))
        yaw = math.radians(azimuth)
        at = (out * math.sin(yaw), SKULL_HEIGHT + up, out * math.cos(yaw))
        # A chord from one elevation down to another leans outward by their mean.
        step = math.degrees(2 * math.asin(lengths[0] / 2 / radius))
        bones = list(zip([elevation - step / 2, *tilts], lengths))
        chain(model, "head", names, at, azimuth, bones, strip("hair", 0.04, 0.014))

    for k, azimuth in enumerate((140, 180, 220)):
        names = [f"hair_back_{k}_{level}" for level in (0, 1, 2, 3, "end")]
        lock(names, azimuth, 40, [0.08, 0.08, 0.08, 0.09], [5, 3, 2])
    for side, sign in SIDES:
        names = [f"hair_side_{side}_{level}" for level in (0, 1, "end")]
        lock(names, sign * 85, 20, [0.07, 0.08], [3])
    lock(["hair_fringe_0", "hair_fringe_end"], 0, 50, [0.07], [])


def sleeves(model):
    """A cuff that slides on each forearm, with cloth that hangs from it and leans back."""
    for side, _ in SIDES:
        cuff = ("cloth", (-0.05, -0.03, -0.05), (0.05, 0.03, 0.05))
        model.node(f"sleeve_{side}", f"forearm_{side}", (0, -0.19, 0), box=cuff)
        names = [f"sleeve_{side}_{level}" for level in (1, 2, 3)]
        chain(model, f"sleeve_{side}", names, (0, 0, -0.05), 180, [(35, 0.13), (30, 0.12)], strip("cloth", 0.09, 0.01))


def ribbon(model):
    """A ribbon of six joints on the back."""
    names = [f"ribbon_{level}" for level in (0, 1, 2, 3, 4, 5, "end")]
    chain(model, "chest", names, (0, 0.10, -0.12), 180, [(12, 0.08)] * 6, strip("cloth", 0.05, 0.008))


# -- clips of the mannequin --------------------------------------------------------------------------------------------


def blend(knots, time):
    """Eased value between (time, value) knots; held outside of them."""
    if time <= knots[0][0]:
        return knots[0][1]
    for (start, before), (end, after) in zip(knots, knots[1:]):
        if time < end:
            u = (time - start) / (end - start)
            return before + (after - before) * u * u * (3 - 2 * u)
    return knots[-1][1]


def stride(phase, amount):
    """Angles (x, y, z) from rest, degrees, and the hips' shift; `phase` in strides, `amount` 0 (standing) to 1."""
    s, c = math.sin(2 * math.pi * phase), math.cos(2 * math.pi * phase)
    angles = {
        "hips": (0, -6 * s, 3 * c),
        "spine": (2, 4 * s, -2 * c),
        "chest": (1, 10 * s, -2 * c),
        "head": (-2, -7 * s, 0),
    }
    # A leg is forward at negative x; the left one is there at phase 1/4, the right one half a stride later.
    for side, sign in SIDES:
        # The knee bends while the leg comes forward, when it must clear the ground.
        lifted = ((1 + sign * c) / 2) ** 2
        angles[f"leg_{side}"] = (-26 * sign * s - 6 * lifted, 0, 0)
        angles[f"knee_{side}"] = (5 + 40 * lifted, 0, 0)
        angles[f"ankle_{side}"] = (-5 + 12 * sign * s, 0, 0)
        angles[f"arm_{side}"] = (22 * sign * s, 0, 0)
        angles[f"forearm_{side}"] = (-18 + 10 * sign * s, 0, 0)
    # Lowest with the legs apart; over the standing foot between.
    shift = (-0.02 * c * amount, -0.02 * (1 - (c * c - s * s)) * amount, 0)
    return {joint: tuple(amount * angle for angle in xyz) for joint, xyz in angles.items()}, shift


def turn_head(time):
    """Looks left, right, ahead, in a hurry, then nods twice."""
    yaw = blend([(0, 0), (0.25, 60), (0.45, 60), (0.8, -60), (1, -60), (1.25, 0)], time)
    pitch = blend([(1.25, 0), (1.4, 28), (1.6, -18), (1.8, 25), (1.95, 0)], time)
    return {"neck": (pitch / 3, yaw / 3, 0), "head": (pitch * 2 / 3, yaw * 2 / 3, 0)}, (0, 0, 0)


def wave(time):
    """Raises both arms sideways and shakes them."""
    raised = blend([(0, 0), (0.45, 1), (1.5, 1), (2, 0)], time)
    shaken = blend([(0.35, 0), (0.55, 1), (1.35, 1), (1.55, 0)], time) * math.sin(2 * math.pi * 2.5 * (time - 0.35))
    angles = {}
    for side, sign in SIDES:
        angles[f"arm_{side}"] = (-15 * raised, 0, sign * (75 * raised + 8 * shaken))
        angles[f"forearm_{side}"] = (0, 0, sign * (25 * raised + 22 * shaken))
    return angles, (0, 0, 0)


def record(model, name, seconds, motion, closes):
    """Adds a clip of `motion`, a function of time; the last key of one that `closes` is its first, to the bit."""
    count = round(seconds * RATE)
    frames = range(count + 1)
    poses = []
    for frame in frames:
        angles, shift = motion((frame % count if closes else frame) / RATE)
        pose = {joint: (None, multiply(model.rests[joint][1], turn(*xyz))) for joint, xyz in angles.items()}
        if "hips" in pose:
            rest = model.rests["hips"][0]
            pose["hips"] = (tuple(a + b for a, b in zip(rest, shift)), pose["hips"][1])
        poses.append(pose)
    model.clip(name, [frame / RATE for frame in frames], poses)


def mannequin():
    """A jointed doll of 1.65 m in a skirt, with hair, wide sleeves and a ribbon; the costume is not animated."""
    model = Model(LICENCE, {"body": (0.55, 0.42, 0.33), "cloth": (0.12, 0.2, 0.5), "hair": (0.08, 0.04, 0.03)})
    body(model)
    skirt(model)
    hair(model)
    sleeves(model)
    ribbon(model)
    record(model, "walk", 1, lambda time: stride(time, 1), closes=True)
    record(model, "walk_and_stop", 5, lambda time: stride(time, blend([(2, 1), (3, 0)], time)), closes=False)
    record(model, "turn_head", 2, turn_head, closes=True)
    record(model, "wave", 2, wave, closes=True)
    return model


# -- collider zoo ------------------------------------------------------------------------------------------------------

PAIRS = (
    "sphere_sphere",
    "sphere_capsule",
    "sphere_line",
    "sphere_plane",
    "line_sphere",
    "line_capsule",
    "line_line",
    "line_plane",
)
SPACING, STATION_HEIGHT, BONE = 0.8, 1.2, 0.2
# The planes of collider_zoo.ron, not yet unit; they lean, so that no axis of the contact is one of the model's.
PLANE_NORMAL, PLANE_OFFSET = (0, 0.3, 1), 0.13
SWEEP_SECONDS, SWEEP_REACH, SWING_DEG = 4, 0.3, 45


def station(model, index, pair):
    """A pendulum of two bones and what it meets."""
    model.node(pair, "zoo", (SPACING * index, STATION_HEIGHT, 0))
    names = [f"{pair}_bone_0", f"{pair}_bone_1", f"{pair}_end"]
    chain(model, pair, names, (0, 0, 0), 0, [(0, BONE), (0, BONE)], strip("pendulum", 0.03, 0.03))
    obstacle, shape = f"{pair}_obstacle", pair.split("_")[1]
    if shape == "plane":
        # The box's upper side lies in the plane, at the foot of the resting pendulum's end.
        lean = math.degrees(math.atan2(PLANE_NORMAL[2], PLANE_NORMAL[1]))
        length = math.hypot(*PLANE_NORMAL)
        end = (0, STATION_HEIGHT - 2 * BONE, 0)
        gap = sum(a * b for a, b in zip(end, PLANE_NORMAL)) / length - PLANE_OFFSET
        at = tuple(a - gap * b / length for a, b in zip((0, -2 * BONE, 0), PLANE_NORMAL))
        box = ("obstacle", (-0.2, -0.02, -0.2), (0.2, 0, 0.2))
        model.node(obstacle, pair, at, turn(x=lean), box)
        model.node(f"{obstacle}_end", obstacle, (0, -0.2, 0))
    elif shape == "sphere":
        # Off-centre by x, so that the pendulum has a side to slip off to; at rest, as any rod, out of its way.
        box = ("obstacle", (-0.04, -0.04, -0.04), (0.04, 0.04, 0.04))
        model.node(obstacle, pair, (0.02, -0.34, SWEEP_REACH), IDENTITY, box)
        model.node(f"{obstacle}_end", obstacle, (0.24, 0, 0))
    else:
        # A rod across the pendulum's way; it leans about two axes.
        box = ("obstacle", (0, -0.03, -0.03), (0.24, 0.03, 0.03))
        model.node(obstacle, pair, (-0.10, -0.36, SWEEP_REACH), turn(y=-12, z=10), box)
        model.node(f"{obstacle}_end", obstacle, (0.24, 0, 0))


def collider_zoo():
    """Eight pendulums in a row, one per pair of colliders: the pendulum's own, then what it meets."""
    model = Model(LICENCE, {"pendulum": (0.12, 0.2, 0.5), "obstacle": (0.55, 0.42, 0.33)})
    model.node("zoo")
    for index, pair in enumerate(PAIRS):
        station(model, index, pair)

    count = SWEEP_SECONDS * RATE
    poses = []
    for frame in range(count + 1):
        u = frame % count / count
        pose = {}
        for pair in PAIRS:
            if pair.endswith("plane"):
                # What stands still is met by a pendulum that the clip turns.
                pose[f"{pair}_bone_0"] = (None, turn(x=SWING_DEG * math.sin(2 * math.pi * u)))
            else:
                x, y, z = model.rests[f"{pair}_obstacle"][0]
                pose[f"{pair}_obstacle"] = ((x, y, z * math.cos(2 * math.pi * u)), None)
        poses.append(pose)
    model.clip("sweep", [frame / RATE for frame in range(count + 1)], poses)
    return model


if __name__ == "__main__":
    folder = Path(__file__).resolve().parent
    mannequin().write(folder / "mannequin.glb")
    collider_zoo().write(folder / "collider_zoo.glb")

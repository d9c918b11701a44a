"""Opens baked files with Blender and compares what it plays with what was written.

    python tests/judges/blender_open.py OUT.glb [OUT2.gltf ...]

Beside each file lies OUT.glb.expected.json (see README.md). Blender gives bones other axes than their nodes, so turns
are compared and not rotations: the angle from the first key to a later one is the same in all axes.
"""

import json
import math
import sys

import bpy
from mathutils import Quaternion

# Largest difference of angles in degrees: Blender's f32 pose (about 1e-4) and, for reduced tracks, their bound at both
# ends of the turn.
BOUND_DEG = {False: 0.01, True: 0.41}
RATE_HZ = 30


def angle_deg(a, b):
    """Angle of two rotations, from the chord: the arc cosine has no digits near 0."""
    a, b = a.normalized(), b.normalized()
    chord = min(math.dist(a, b), math.dist(a, -b))
    return math.degrees(4.0 * math.asin(min(1.0, chord / 2.0)))


def model_nodes(path):
    """Names of the nodes in file order."""
    data = open(path, "rb").read()
    if data[:4] == b"glTF":
        length = int.from_bytes(data[12:16], "little")
        data = data[20 : 20 + length]
    return json.loads(data)


def animated(name):
    """The pose bones and objects of this name."""
    found = []
    for item in bpy.data.objects:
        if item.type == "ARMATURE":
            found += [(item, bone.name) for bone in item.pose.bones if bone.name == name]
        if item.name == name:
            found.append((item, None))
    return found


def rotation(item, bone):
    """Its rotation against its rest, as evaluated at the current frame."""
    evaluated = item.evaluated_get(bpy.context.evaluated_depsgraph_get())
    holder = evaluated.pose.bones[bone] if bone else evaluated
    return holder.rotation_quaternion.copy()


def play(item, animation):
    """Makes the named animation the active one of the object."""
    data = item.animation_data
    if data is None:
        return False
    for track in data.nla_tracks:
        track.mute = True
    for track in data.nla_tracks:
        if track.name == animation:
            strip = track.strips[0]
            data.action = strip.action
            if hasattr(strip, "action_slot"):
                data.action_slot = strip.action_slot
            return True
    return data.action is not None


def judge(path):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = RATE_HZ
    assert bpy.ops.import_scene.gltf(filepath=path) == {"FINISHED"}
    model = model_nodes(path)
    expected = json.load(open(path + ".expected.json", encoding="utf-8"))
    clip = expected["clips"][0]
    name = model["animations"][clip["animation"]].get("name", "Animation")
    worst, compared = {False: 0.0, True: 0.0}, 0
    for track in clip["tracks"]:
        node = model["nodes"][track["node"]].get("name", "")
        if track["path"] != "rotation":
            continue
        values = [Quaternion((q[3], q[0], q[1], q[2])) for q in track["values"]]
        for item, bone in animated(node):
            if not play(item, name):
                continue
            first = None
            for i in range(0, len(values), 5):
                bpy.context.scene.frame_set(round(clip["times"][i] * RATE_HZ))
                here = rotation(item, bone)
                first = here if first is None else first
                error = abs(angle_deg(first, here) - angle_deg(values[0], values[i]))
                worst[track["reduced"]] = max(worst[track["reduced"]], error)
                compared += 1
            break
    good = compared > 0 and all(worst[kind] <= bound for kind, bound in BOUND_DEG.items())
    print(
        f"{'good' if good else 'BAD '} {path}: animation {name!r}, {compared} rotations compared, worst "
        f"{worst[False]:.6f} deg exact, {worst[True]:.6f} deg reduced"
    )
    return good


if __name__ == "__main__":
    print("Blender", bpy.app.version_string)
    results = [judge(path) for path in sys.argv[1:]]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    sys.exit(0 if all(results) else 1)

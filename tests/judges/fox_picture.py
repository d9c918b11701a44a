"""The picture of the README: Fox.glb as it came (grey, above) and with the baked tail (below), side by side in time.

    /tmp/bpy/bin/python tests/judges/fox_picture.py scenes/models/Fox.glb BAKED.glb Run OUT.png 0.2,0.4,0.6

Needs Blender's module `bpy`, see README.md in this folder.
"""
import sys

import bpy
from mathutils import Matrix, Vector

METRES_PER_UNIT = 0.01
GREY = (0.55, 0.55, 0.58, 1)


def pose_copy(path, clip, time, place, colour):
    """Adds the skinned meshes of `path` as they are at `time` of `clip`, standing at `place`."""
    scene = bpy.context.scene
    objects, actions = set(bpy.data.objects), set(bpy.data.actions)
    bpy.ops.import_scene.gltf(filepath=path)
    new = [o for o in bpy.data.objects if o not in objects]
    armature = next(o for o in new if o.type == "ARMATURE")
    action = next(a for a in bpy.data.actions if a not in actions and clip.lower() in a.name.lower())
    data = armature.animation_data or armature.animation_data_create()
    for track in list(data.nla_tracks):
        data.nla_tracks.remove(track)
    data.action = action
    data.action_slot = action.slots[0]
    frame = time * scene.render.fps
    scene.frame_set(int(frame), subframe=frame % 1)
    graph = bpy.context.evaluated_depsgraph_get()
    for o in [o for o in new if o.type == "MESH" and o.find_armature()]:
        copy = bpy.data.objects.new("copy", bpy.data.meshes.new_from_object(o.evaluated_get(graph)))
        scene.collection.objects.link(copy)
        copy.matrix_world = Matrix.Translation(place) @ Matrix.Scale(METRES_PER_UNIT, 4) @ o.matrix_world
        if colour:
            material = bpy.data.materials.new("plain")
            material.use_nodes = True
            material.node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value = colour
            copy.data.materials.clear()
            copy.data.materials.append(material)
    for o in new:
        bpy.data.objects.remove(o, do_unlink=True)


def light_and_camera():
    scene = bpy.context.scene
    corners = [o.matrix_world @ Vector(c) for o in scene.objects if o.type == "MESH" for c in o.bound_box]
    low = Vector(min(p[k] for p in corners) for k in range(3))
    high = Vector(max(p[k] for p in corners) for k in range(3))
    middle = (low + high) / 2
    camera = bpy.data.cameras.new("camera")
    camera.type = "ORTHO"
    camera.ortho_scale = max(high.y - low.y, (high.z - low.z) * 1.6) * 1.05
    eye = bpy.data.objects.new("camera", camera)
    eye.location = middle + Vector((8, 0, 0.6))
    eye.rotation_euler = (middle - eye.location).to_track_quat("-Z", "Y").to_euler()
    sun = bpy.data.lights.new("sun", "SUN")
    sun.energy = 3
    lamp = bpy.data.objects.new("sun", sun)
    lamp.rotation_euler = (0.6, 0.5, 0.4)
    for o in (eye, lamp):
        scene.collection.objects.link(o)
    scene.camera = eye
    scene.world = bpy.data.worlds.new("world")
    scene.world.use_nodes = True
    background = scene.world.node_tree.nodes["Background"].inputs
    background[0].default_value, background[1].default_value = (1, 1, 1, 1), 0.8


def main():
    plain, baked, clip, out, times = sys.argv[1:6]
    bpy.ops.wm.read_factory_settings(use_empty=True)
    for i, time in enumerate(float(t) for t in times.split(",")):
        pose_copy(plain, clip, time, (0, 1.85 * i, 1.0), GREY)
        pose_copy(baked, clip, time, (0, 1.85 * i, 0.0), None)
    light_and_camera()
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.cycles.samples = 24
    scene.view_settings.view_transform = "Standard"
    scene.render.resolution_x, scene.render.resolution_y = 1200, 480
    scene.render.filepath = out
    bpy.ops.render.render(write_still=True)


main()

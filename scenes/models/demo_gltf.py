"""A small glTF 2.0 writer for the demo models: named nodes, one box per node, clips of LINEAR keys.

Standard library only. The same calls give the same bytes on every machine: numbers are rounded before they are
stored, because the last digit of a sine is the C library's own.
"""

import json
import math
import struct

FLOAT, UNSIGNED_SHORT = 5126, 5123
VERTICES, INDICES = 34962, 34963
IDENTITY = (0.0, 0.0, 0.0, 1.0)


def stored(value):
    """`value` as a file holds it: 7 decimals, far coarser than the noise of a sine, and no -0."""
    return round(value, 7) + 0.0


def multiply(a, b):
    """The rotation that turns by `b` first, then by `a`."""
    (ax, ay, az, aw), (bx, by, bz, bw) = a, b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def turn(x=0.0, y=0.0, z=0.0):
    """qy * qx * qz, degrees: the order in which the engine reads limits."""
    (sx, cx), (sy, cy), (sz, cz) = [
        (math.sin(math.radians(angle) / 2), math.cos(math.radians(angle) / 2)) for angle in (x, y, z)
    ]
    return multiply(multiply((0, sy, 0, cy), (sx, 0, 0, cx)), (0, 0, sz, cz))


class Model:
    """One glTF file in the making. Nodes keep the order in which they are added, parents first."""

    def __init__(self, copyright, colours):
        """`colours`: a linear RGB triple for each name of a material."""
        self.copyright = copyright
        self.materials = list(colours)
        self.colours = colours
        self.nodes, self.names, self.rests = [], {}, {}
        self.meshes, self.animations, self.accessors = [], [], []
        # One buffer view per use; vertices may not share one with keys.
        self.bytes = {VERTICES: bytearray(), INDICES: bytearray(), None: bytearray()}
        self.known = {}

    def node(self, name, parent=None, at=(0, 0, 0), rotation=IDENTITY, box=None):
        """Adds a node. `at` and `rotation` are relative to the parent; `box` is (material, low corner, high corner)."""
        node = {"name": name}
        if tuple(at) != (0, 0, 0):
            node["translation"] = [stored(value) for value in at]
        if rotation != IDENTITY:
            node["rotation"] = [stored(value) for value in rotation]
        if box is not None:
            node["mesh"] = self._mesh(*box)
        self.names[name] = len(self.nodes)
        self.rests[name] = (tuple(at), rotation)
        self.nodes.append(node)
        if parent is not None:
            self.nodes[self.names[parent]].setdefault("children", []).append(self.names[name])
        return name

    def clip(self, name, times, poses):
        """Adds a clip. Each of `poses`, one per time, maps a joint to (translation or None, rotation or None)."""
        samplers, channels = [], []
        keys = self._accessor("SCALAR", [(time,) for time in times], bounds=True)
        joints = sorted({joint for pose in poses for joint in pose}, key=self.names.get)
        for joint in joints:
            for path, kind, part in (("translation", "VEC3", 0), ("rotation", "VEC4", 1)):
                rest = self.rests[joint][part]
                values = [pose.get(joint, (None, None))[part] or rest for pose in poses]
                if all(value == rest for value in values):
                    continue
                channels.append({"sampler": len(samplers), "target": {"node": self.names[joint], "path": path}})
                samplers.append({"input": keys, "output": self._accessor(kind, values)})
        self.animations.append({"name": name, "channels": channels, "samplers": samplers})

    def write(self, path):
        """Writes the file, binary glTF."""
        views, blob = [], bytearray()
        for target, data in self.bytes.items():
            view = {"buffer": 0, "byteOffset": len(blob), "byteLength": len(data)}
            if target is not None:
                view["target"] = target
            if target == VERTICES:
                view["byteStride"] = 12
            views.append(view)
            blob += data + bytes(-len(data) % 4)
        children = {child for node in self.nodes for child in node.get("children", [])}
        document = {
            "asset": {"version": "2.0", "generator": "make_demo_models.py", "copyright": self.copyright},
            "scene": 0,
            "scenes": [{"nodes": [index for index in range(len(self.nodes)) if index not in children]}],
            "nodes": self.nodes,
            "meshes": self.meshes,
            "materials": [
                {
                    "name": name,
                    "pbrMetallicRoughness": {
                        "baseColorFactor": [*self.colours[name], 1],
                        "metallicFactor": 0,
                        "roughnessFactor": 0.9,
                    },
                }
                for name in self.materials
            ],
            "animations": self.animations,
            "accessors": self.accessors,
            "bufferViews": views,
            "buffers": [{"byteLength": len(blob)}],
        }
        text = json.dumps(document, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 4)
        with open(path, "wb") as file:
            file.write(struct.pack("<4sII", b"glTF", 2, 12 + 8 + len(text) + 8 + len(blob)))
            file.write(struct.pack("<I4s", len(text), b"JSON") + text)
            file.write(struct.pack("<I4s", len(blob), b"BIN\0") + blob)

    def _mesh(self, material, low, high):
        """A box with flat sides; equal boxes are one mesh, and boxes of equal size share their vertices."""
        key = (material, low, high)
        if key not in self.known:
            normals, points, triangles = [], [], []
            for axis in range(3):
                for corner, sign in ((low, -1), (high, 1)):
                    u, v = (axis + 1) % 3, (axis + 2) % 3
                    first = len(points)
                    for at_u, at_v in ((low[u], low[v]), (high[u], low[v]), (high[u], high[v]), (low[u], high[v])):
                        point, normal = [0, 0, 0], [0, 0, 0]
                        point[axis], point[u], point[v] = corner[axis], at_u, at_v
                        normal[axis] = sign
                        points.append(point)
                        normals.append(normal)
                    order = (0, 1, 2, 0, 2, 3) if sign > 0 else (0, 2, 1, 0, 3, 2)
                    triangles += [(first + index,) for index in order]
            primitive = {
                "attributes": {
                    "POSITION": self._accessor("VEC3", points, VERTICES, bounds=True),
                    "NORMAL": self._accessor("VEC3", normals, VERTICES),
                },
                "indices": self._accessor("SCALAR", triangles, INDICES),
                "material": self.materials.index(material),
            }
            self.known[key] = len(self.meshes)
            self.meshes.append({"primitives": [primitive]})
        return self.known[key]

    def _accessor(self, kind, rows, target=None, bounds=False):
        """Index of an accessor with these rows; equal rows are stored once."""
        letter = "H" if target == INDICES else "f"
        flat = [stored(value) if letter == "f" else value for row in rows for value in row]
        data = struct.pack(f"<{len(flat)}{letter}", *flat)
        key = (kind, target, bounds, data)
        if key not in self.known:
            buffer = self.bytes[target]
            accessor = {
                "bufferView": list(self.bytes).index(target),
                "byteOffset": len(buffer),
                "componentType": UNSIGNED_SHORT if letter == "H" else FLOAT,
                "count": len(rows),
                "type": kind,
            }
            if bounds:
                # As 32-bit numbers, so that they equal the stored ones exactly.
                width = len(rows[0])
                columns = [struct.unpack(f"<{len(flat)}{letter}", data)[start::width] for start in range(width)]
                accessor["min"], accessor["max"] = [min(c) for c in columns], [max(c) for c in columns]
            buffer += data
            self.known[key] = len(self.accessors)
            self.accessors.append(accessor)
        return self.known[key]

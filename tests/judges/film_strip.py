"""A film strip of a glTF file: an SVG of what a clip looks like at some times.

    python3 tests/judges/film_strip.py MODEL.glb CLIP OUT.svg 0.2,0.4,0.6 [YAW_DEG [HEIGHT_M [MODEL.glb CLIP ...]]]

Python's standard library only. Each further MODEL CLIP pair is another row; HEIGHT_M is what fits into a row. Meshes are
drawn with their skins, in the base colours of their materials; morph targets are not.
"""
import json
import math
import struct
import sys

WIDTH, HEIGHT, LIGHT = 230, 330, (0.4, 0.8, 0.45)


def read(path):
    """The JSON and the binary chunk of a .glb."""
    data = open(path, "rb").read()
    length = struct.unpack_from("<I", data, 12)[0]
    return json.loads(data[20 : 20 + length]), data[28 + length :]


def accessor(gltf, binary, index):
    """Rows of numbers."""
    a = gltf["accessors"][index]
    view = gltf["bufferViews"][a["bufferView"]]
    width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4, "MAT4": 16}[a["type"]]
    code, size = {5126: ("f", 4), 5123: ("H", 2), 5125: ("I", 4), 5121: ("B", 1)}[a["componentType"]]
    start = view.get("byteOffset", 0) + a.get("byteOffset", 0)
    stride = view.get("byteStride", width * size)
    return [struct.unpack_from(f"<{width}{code}", binary, start + i * stride) for i in range(a["count"])]


def turn(q, v):
    x, y, z, w = q
    t = (2 * (y * v[2] - z * v[1]), 2 * (z * v[0] - x * v[2]), 2 * (x * v[1] - y * v[0]))
    return (
        v[0] + w * t[0] + y * t[2] - z * t[1],
        v[1] + w * t[1] + z * t[0] - x * t[2],
        v[2] + w * t[2] + x * t[1] - y * t[0],
    )


def affine(t, r, s):
    """Columns x, y, z and the origin."""
    axes = [turn(r, [s[i] if i == axis else 0 for i in range(3)]) for axis in range(3)]
    return axes + [tuple(t)]


def move(m, p):
    return tuple(m[0][i] * p[0] + m[1][i] * p[1] + m[2][i] * p[2] + m[3][i] for i in range(3))


def times(a, b):
    turned = [tuple(x - o for x, o in zip(move(a, column), a[3])) for column in b[:3]]
    return turned + [move(a, b[3])]


def pose(gltf, binary, clip, time):
    """The transform of every node in the world."""
    local = [
        [list(n.get("translation", (0, 0, 0))), list(n.get("rotation", (0, 0, 0, 1))), list(n.get("scale", (1, 1, 1)))]
        for n in gltf["nodes"]
    ]
    animation = [a for a in gltf["animations"] if a.get("name") == clip][-1]
    for channel in animation["channels"]:
        place = {"translation": 0, "rotation": 1, "scale": 2}.get(channel["target"]["path"])
        if place is None:
            continue
        sampler = animation["samplers"][channel["sampler"]]
        keys = [t[0] for t in accessor(gltf, binary, sampler["input"])]
        values = accessor(gltf, binary, sampler["output"])
        k = max([i for i, t in enumerate(keys) if t <= time] or [0])
        n = min(k + 1, len(keys) - 1)
        u = 0 if n == k else min(max((time - keys[k]) / (keys[n] - keys[k]), 0), 1)
        mixed = [a + (b - a) * u for a, b in zip(values[k], values[n])]
        if place == 1:
            size = math.sqrt(sum(c * c for c in mixed))
            mixed = [c / size for c in mixed]
        local[channel["target"]["node"]][place] = mixed
    world = [None] * len(local)

    def place_below(node, parent):
        matrix = gltf["nodes"][node].get("matrix")
        own = [tuple(matrix[4 * c : 4 * c + 3]) for c in range(4)] if matrix else affine(*local[node])
        world[node] = times(parent, own)
        for child in gltf["nodes"][node].get("children", []):
            place_below(child, world[node])

    for root in gltf["scenes"][gltf.get("scene", 0)]["nodes"]:
        place_below(root, affine((0, 0, 0), (0, 0, 0, 1), (1, 1, 1)))
    return world


def skinned(gltf, binary, node, primitive, points, world):
    """Points of a skinned primitive in the world."""
    skin = gltf["skins"][node["skin"]]
    binds = accessor(gltf, binary, skin["inverseBindMatrices"])
    placed = [times(world[joint], [bind[4 * c : 4 * c + 3] for c in range(4)]) for joint, bind in zip(skin["joints"], binds)]
    joints = accessor(gltf, binary, primitive["attributes"]["JOINTS_0"])
    weights = accessor(gltf, binary, primitive["attributes"]["WEIGHTS_0"])
    for point, of, weight in zip(points, joints, weights):
        total = sum(weight) or 1
        moved = [move(placed[j], point) for j in of]
        yield tuple(sum(w * m[i] for w, m in zip(weight, moved)) / total for i in range(3))


def triangles(gltf, binary, world):
    """Triangles in the world with a colour."""
    for node, placed in zip(gltf["nodes"], world):
        if "mesh" not in node or placed is None:
            continue
        for primitive in gltf["meshes"][node["mesh"]]["primitives"]:
            points = accessor(gltf, binary, primitive["attributes"]["POSITION"])
            if "skin" in node:
                points = list(skinned(gltf, binary, node, primitive, points, world))
            else:
                points = [move(placed, p) for p in points]
            indices = [i[0] for i in accessor(gltf, binary, primitive["indices"])]
            material = gltf["materials"][primitive["material"]].get("pbrMetallicRoughness", {})
            for i in range(0, len(indices), 3):
                yield [points[k] for k in indices[i : i + 3]], material.get("baseColorFactor", (1, 1, 1, 1))


def picture(gltf, binary, clip, time, yaw, height):
    """SVG polygons, the far ones first; the eye looks along −Z after a turn by `yaw`."""
    about_y = (0, math.sin(yaw / 2), 0, math.cos(yaw / 2))
    drawn = []
    for corners, colour in triangles(gltf, binary, pose(gltf, binary, clip, time)):
        a, b, c = (turn(about_y, p) for p in corners)
        u, v = [b[i] - a[i] for i in range(3)], [c[i] - a[i] for i in range(3)]
        normal = (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0])
        size = math.sqrt(sum(n * n for n in normal))
        if size == 0 or normal[2] <= 0:
            continue
        shade = 0.45 + 0.55 * max(sum(n / size * l for n, l in zip(normal, LIGHT)), 0)
        # glTF colours are linear.
        rgb = "".join(f"{min(int(255 * (part * shade) ** (1 / 2.2)), 255):02x}" for part in colour[:3])
        drawn.append((a[2] + b[2] + c[2], [a, b, c], rgb))
    scale = (HEIGHT - 20) / height
    for _, points, rgb in sorted(drawn, key=lambda d: d[0]):
        at = " ".join(f"{WIDTH / 2 + p[0] * scale:.1f},{HEIGHT - 10 - p[1] * scale:.1f}" for p in points)
        yield f'<polygon points="{at}" fill="#{rgb}" stroke="#{rgb}" stroke-width=".4"/>'


def main():
    arguments = sys.argv[1:]
    path, clip, out, moments = arguments[:4]
    yaw = math.radians(float(arguments[4])) if len(arguments) > 4 else 0
    height = float(arguments[5]) if len(arguments) > 5 else 1.63
    rows = [(path, clip)] + list(zip(arguments[6::2], arguments[7::2]))
    moments = [float(t) for t in moments.split(",")]
    svg = []
    for row, (path, clip) in enumerate(rows):
        gltf, binary = read(path)
        for column, time in enumerate(moments):
            body = "".join(picture(gltf, binary, clip, time, yaw, height))
            svg.append(f'<g transform="translate({column * WIDTH},{row * HEIGHT})">{body}</g>')
    size = f'viewBox="0 0 {WIDTH * len(moments)} {HEIGHT * len(rows)}"'
    open(out, "w").write(f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(svg)}</svg>\n')


main()

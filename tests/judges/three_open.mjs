// Opens baked files with three.js and compares what its AnimationMixer plays with what was written.
//
//   node tests/judges/three_open.mjs OUT.glb [OUT2.gltf …]
//
// Beside each file lies `OUT.glb.expected.json` (see README.md). Rotations are compared at keys and half way between
// keys, where slerp of the written values is expected; tracks with fewer keys may be off by the bound they were reduced
// under.

import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import * as THREE from 'three';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';

/** Largest angle, degrees: f32 keys, and what tests/writing.rs reduces by. */
const BOUND_DEG = { exact: 1e-3, reduced: 0.2 + 1e-3 };
/** Added to it where rotations are integers of 16 bits: at keys up to 0.0035, between keys 120 degrees apart this. */
const QUANTIZED_DEG = 0.0064;
/** Largest distance, units of the file: f32 keys of a few units. */
const BOUND_DISTANCE = 1e-5;

// What three.js expects of a browser.
globalThis.self ??= globalThis;
globalThis.ProgressEvent ??= class extends Event {};

/** Loads external files from the model's folder, through the one scheme that fetch knows here. */
function manager(folder) {
  const manager = new THREE.LoadingManager();
  manager.setURLModifier((url) => {
    if (url.startsWith('data:') || url.startsWith('blob:')) return url;
    const bytes = readFileSync(join(folder, decodeURIComponent(url)));
    return `data:application/octet-stream;base64,${bytes.toString('base64')}`;
  });
  return manager;
}

/** Images need a browser; motion does not need images. */
const noTextures = () => ({ name: 'no_textures', loadTexture: async () => new THREE.Texture() });

async function open(file) {
  const loader = new GLTFLoader(manager(dirname(file))).register(noTextures);
  const bytes = readFileSync(file);
  const data = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  return loader.parseAsync(data, '');
}

/** Angle of two rotations in degrees, from the chord: the arc cosine has no digits near 0. */
function degreesBetween(a, b) {
  const [x, y] = [a, b].map((q) => q.map((c) => c / Math.hypot(...q)));
  const chord = (sign) => Math.hypot(...x.map((c, i) => c - sign * y[i]));
  return (4 * Math.asin(Math.min(chord(1), chord(-1)) / 2) * 180) / Math.PI;
}

/** The value of the written track half way (`u` = 0.5) or at (`u` = 0) key `i`, in f64. */
function written(track, i, u) {
  const [a, b] = [track.values[i], track.values[Math.min(i + 1, track.values.length - 1)]];
  if (track.path === 'translation') return a.map((c, k) => c + (b[k] - c) * u);
  const sign = a.reduce((dot, c, k) => dot + c * b[k], 0) < 0 ? -1 : 1;
  return new THREE.Quaternion(...a).slerp(new THREE.Quaternion(...b.map((c) => c * sign)), u).toArray();
}

/** Worst errors of one clip. */
function judge(gltf, nodes, clip) {
  const mixer = new THREE.AnimationMixer(gltf.scene ?? gltf.scenes[0]);
  const action = mixer.clipAction(gltf.animations[clip.animation]);
  action.setLoop(THREE.LoopOnce);
  action.clampWhenFinished = true;
  action.play();
  const worst = { exact: 0, reduced: 0, distance: 0, samples: 0 };
  for (let i = 0; i < clip.times.length; i += 1) {
    for (const u of i + 1 < clip.times.length ? [0, 0.5] : [0]) {
      const next = clip.times[Math.min(i + 1, clip.times.length - 1)];
      action.reset();
      mixer.setTime(clip.times[i] + (next - clip.times[i]) * u);
      for (const track of clip.tracks) {
        const node = nodes.get(track.node);
        const expected = written(track, i, u);
        worst.samples += 1;
        if (track.path === 'rotation') {
          const kind = track.reduced ? 'reduced' : 'exact';
          worst[kind] = Math.max(worst[kind], degreesBetween(node.quaternion.toArray(), expected));
        } else {
          const distance = Math.hypot(...node.position.toArray().map((c, k) => c - expected[k]));
          worst.distance = Math.max(worst.distance, distance);
        }
      }
    }
  }
  return worst;
}

let failed = 0;
const rows = [];
for (const file of process.argv.slice(2)) {
  const { clips, quantized } = JSON.parse(readFileSync(`${file}.expected.json`, 'utf8'));
  const gltf = await open(file);
  const nodes = new Map();
  for (const { node } of clips.flatMap((clip) => clip.tracks)) nodes.set(node, await gltf.parser.getDependency('node', node));
  for (const clip of clips) {
    const worst = judge(gltf, nodes, clip);
    const more = quantized ? QUANTIZED_DEG : 0;
    const turned = worst.exact <= BOUND_DEG.exact + more && worst.reduced <= BOUND_DEG.reduced + more;
    const good = turned && worst.distance <= BOUND_DISTANCE;
    if (!good) failed += 1;
    rows.push({ file: basename(file), animation: clip.animation, ...worst, good });
  }
}
console.table(rows);
console.log(`${rows.length - failed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);

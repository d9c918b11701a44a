// Workload S by three-vrm's spring bones.
//
//   node --expose-gc bench.mjs CHARACTERSxCOLLIDERS
//
// Says `ready` when its characters swing, then measures a round for each line of its input and prints
// `S CASE,three-vrm,ns per joint update`, CPU time of this process. Fails when the bones did not move or do not hang.
// `../run.sh` does all of it.

import { createInterface } from 'node:readline';

import * as THREE from 'three';
import {
  VRMSpringBoneCollider,
  VRMSpringBoneColliderShapeCapsule,
  VRMSpringBoneJoint,
  VRMSpringBoneManager,
} from '@pixiv/three-vrm-springbone';

// The numbers of benches/support/workload.rs.
const CHAINS = 24;
const LINKS = 6;
const PERIOD = 128;
const PHASE = 17;
const STEP = 1 / 60;
/** One step in so many comes untimed before each round. */
const WARMING = 3;
/** Joint updates of a round; at least `LEAST_STEPS` steps of all characters. */
const WORK = 144_000;
const LEAST_STEPS = 2;
/** Steps of one character that come first, so that the compiler has settled: some 300,000 joint updates. */
const COMPILED = 2000;
/** Steps that come before the characters are checked, at least. */
const LEAST_WARM_UP = 4;
/** How far the tips of each character have to move, in the world and against the hips, metres. */
const LEAST_MOVED = 1e-4;
/** How deep below the hips they hang on average, metres. */
const LEAST_DEPTH = 0.2;

const UP = new THREE.Vector3(0, 1, 0);
/** Direction of item `index` of `count` on a circle in the XZ plane. */
const onCircle = (index, count) => {
  const angle = (index / count) * 2 * Math.PI;
  return [Math.cos(angle), Math.sin(angle)];
};

/** A character at rest; it is ahead of the one before it by `PHASE` steps. */
function makeCharacter(index, colliderCount) {
  const hips = new THREE.Object3D();
  new THREE.Object3D().add(hips);
  const character = { hips, manager: new VRMSpringBoneManager(), chains: [], ahead: index * PHASE };
  drive(character, 0);
  const colliders = [];
  for (let i = 0; i < colliderCount; i++) {
    const [x, z] = onCircle(i, colliderCount);
    const offset = new THREE.Vector3(0.06 * x, -0.05, 0.06 * z);
    const tail = new THREE.Vector3(0.06 * x, -0.45, 0.06 * z);
    const shape = new VRMSpringBoneColliderShapeCapsule({ offset, tail, radius: 0.05 });
    colliders.push(new VRMSpringBoneCollider(shape));
    hips.add(colliders[i]);
  }
  const groups = colliderCount > 0 ? [{ colliders, name: 'all' }] : [];
  for (let chain = 0; chain < CHAINS; chain++) {
    character.chains.push(addChain(character, onCircle(chain, CHAINS), groups));
  }
  hips.parent.updateMatrixWorld(true);
  character.manager.setInitState();
  return character;
}

/** Seven nodes below the hips, of which six swing. */
function addChain({ hips, manager }, [x, z], groups) {
  const nodes = [];
  for (let link = 0; link <= LINKS; link++) {
    const node = new THREE.Object3D();
    if (link === 0) node.position.set(0.13 * x, 0, 0.13 * z);
    else node.position.set(0.01 * x, -0.07, 0.01 * z);
    (nodes[link - 1] ?? hips).add(node);
    nodes.push(node);
  }
  const settings = { hitRadius: 0.02, stiffness: 0.6, gravityPower: 0.3, dragForce: 0.4 };
  for (let link = 0; link < LINKS; link++) {
    manager.addJoint(new VRMSpringBoneJoint(nodes[link], nodes[link + 1], settings, groups));
  }
  return nodes;
}

/** Where the hips are at a step. */
function drive({ hips, ahead }, step) {
  const u = (((step + ahead) % PERIOD) / PERIOD) * 2 * Math.PI;
  hips.position.set(0.1 * Math.sin(2 * u), 1 + 0.03 * Math.sin(4 * u), 0);
  hips.quaternion.setFromAxisAngle(UP, 0.5 * Math.sin(u));
}

/** One step of all characters. */
function advance(characters, step) {
  for (const character of characters) {
    drive(character, step);
    character.manager.update(STEP);
  }
}

/** Tips of a character's chains in the world, and what brings them into the space of the hips. */
function tips({ hips, chains }) {
  const place = (node) => new THREE.Vector3().setFromMatrixPosition(node.matrixWorld);
  return { tips: chains.map((nodes) => place(nodes[LINKS])), fromWorld: hips.matrixWorld.clone().invert() };
}

/** Refuses characters whose tips do not move, in the world and against the hips, or do not hang below them. */
function check(characters, before) {
  characters.forEach((character, index) => {
    const [old, now] = [before[index], tips(character)];
    const farthest = (from, to) => Math.max(...to.map((tip, chain) => tip.distanceTo(from[chain])));
    const inWorld = farthest(old.tips, now.tips);
    for (const { tips, fromWorld } of [old, now]) tips.forEach((tip) => tip.applyMatrix4(fromWorld));
    const againstHips = farthest(old.tips, now.tips);
    const depth = now.tips.reduce((sum, tip) => sum - tip.y, 0) / CHAINS;
    if (!(Math.min(inWorld, againstHips) > LEAST_MOVED && depth > LEAST_DEPTH)) {
      const moved = `tips moved ${inWorld} m, ${againstHips} m against the hips`;
      throw new Error(`character ${index}: ${moved}, and hang ${depth} m below them`);
    }
  });
}

async function main([name]) {
  const [count, colliders] = /^(\d+)x(\d+)$/.exec(name ?? '')?.slice(1).map(Number) ?? [];
  if (!(count > 0 && globalThis.gc)) {
    console.error('usage: node --expose-gc bench.mjs CHARACTERSxCOLLIDERS');
    process.exit(2);
  }
  const first = [makeCharacter(0, colliders)];
  for (let step = 1; step <= COMPILED; step++) advance(first, step);

  const characters = Array.from({ length: count }, (_, index) => makeCharacter(index, colliders));
  const steps = Math.max(Math.ceil(WORK / (count * CHAINS * LINKS)), LEAST_STEPS);
  let step = 0;
  const run = (count) => {
    for (const last = step + count; step < last; ) advance(characters, ++step);
  };
  run(1);
  const before = characters.map(tips);
  run(Math.max(steps, LEAST_WARM_UP));
  check(characters, before);
  // What building the characters left behind is not for the rounds to pay.
  globalThis.gc({ type: 'minor' });

  console.log('ready');
  for await (const _ of createInterface({ input: process.stdin })) {
    // What others left in the caches is not its own.
    run(Math.ceil(steps / WARMING));
    const start = process.cpuUsage();
    run(steps);
    const { user, system } = process.cpuUsage(start);
    const nanoseconds = ((user + system) * 1000) / (steps * count * CHAINS * LINKS);
    console.log(`S ${name},three-vrm,${nanoseconds.toFixed(4)}`);
  }
}

await main(process.argv.slice(2));

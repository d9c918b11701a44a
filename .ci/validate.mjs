// Judges baked files by the Khronos glTF validator: a baked file must have no error that its input did not have.
//
//   node .ci/validate.mjs in.glb out.glb [in2.glb out2.glb …]
//
// Errors are compared by code and by the class of place they point to: `/accessors/17/max/0` is `/accessors/*/max/*`,
// because a bake adds entries to lists. A class with more errors in the output than in the input fails as well.
// Prints a table and the new errors; exits with 1 when there are any, with 2 when it was called wrongly or a file
// cannot be read.

import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import validator from 'gltf-validator';

const ERROR = 0;
const COUNTS = 'errors/warnings/infos/hints';

/** The validator's report on `file`; external files are looked up beside it. */
async function report(file) {
  const folder = dirname(file);
  return validator.validateBytes(new Uint8Array(await readFile(file)), {
    uri: basename(file),
    maxIssues: 0,
    externalResourceFunction: async (uri) =>
      new Uint8Array(await readFile(join(folder, decodeURIComponent(uri)))),
  });
}

/** Code and class of place of an issue. */
function classOf({ code, pointer, offset }) {
  const place = pointer?.replace(/\/\d+(?=\/|$)/g, '/*');
  return `${code} at ${place ?? (offset === undefined ? '/' : 'the container')}`;
}

/** The errors of a report by class. */
function classes(report) {
  const found = new Map();
  for (const issue of report.issues.messages) {
    if (issue.severity !== ERROR) continue;
    const key = classOf(issue);
    found.set(key, [...(found.get(key) ?? []), issue]);
  }
  return found;
}

/** One sentence for each class of error that `after` has more of than `before`. */
function newErrors(before, after) {
  const known = classes(before);
  return [...classes(after)]
    .filter(([key, issues]) => issues.length > (known.get(key)?.length ?? 0))
    .map(([key, issues]) => {
      const { pointer, message } = issues[issues.length - 1];
      return `${issues.length - (known.get(key)?.length ?? 0)} more ${key}, such as ${pointer}: ${message}`;
    });
}

/** Errors, warnings, infos, hints. */
function summary(report) {
  const { issues } = report;
  return [issues.numErrors, issues.numWarnings, issues.numInfos, issues.numHints].join(' / ');
}

const files = process.argv.slice(2);
if (files.length === 0 || files.length % 2 !== 0) {
  console.error('usage: node validate.mjs IN OUT [IN OUT …]');
  process.exit(2);
}

const rows = [];
let failed = 0;
for (let i = 0; i < files.length; i += 2) {
  const [input, output] = files.slice(i, i + 2);
  let before, after;
  try {
    [before, after] = [await report(input), await report(output)];
  } catch (error) {
    console.error(`${input}, ${output}: ${error.message ?? error}`);
    process.exit(2);
  }
  const fresh = newErrors(before, after);
  if (fresh.length > 0) failed += 1;
  for (const fault of fresh) console.error(`${output}: ${fault}`);
  rows.push({
    file: basename(output),
    [`input: ${COUNTS}`]: summary(before),
    [`output: ${COUNTS}`]: summary(after),
    'new errors': fresh.length,
  });
}
console.table(rows);
console.log(`${rows.length - failed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);

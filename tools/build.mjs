// The JavaScript of the package, in dist/: what a start loads stands in a few dozen files instead of several hundred
// (docs/decisions/0010-package-bundle.md). Packages stay packages. Not minified, for stack traces that can be read.

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { zipScript } from '../src/server/pages/api-reference.ts';

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');
/** What Node starts by its name: the command line, and what `programFile` names. */
const programs = ['main', 'store/sqlite/worker', 'inference/schemas/worker', 'engines/llama/child'];

rmSync(dist, { recursive: true, force: true });
const bundle = await rolldown({
  input: Object.fromEntries(programs.map((name) => [name, join(root, 'src', `${name}.ts`)])),
  platform: 'node',
  external: /^[^./]/,
});
await bundle.write({
  dir: dist,
  entryFileNames: '[name].js',
  chunkFileNames: 'chunks/[name].js',
  // What nearly all share stands in one file, not in one for each set of files that share it.
  codeSplitting: { groups: [{ name: 'shared', test: /src\/(base|core)\// }] },
});
// The script of the API reference is a file of the package, which then needs no other package for it.
writeFileSync(join(dist, 'scalar.js.gz'), await zipScript());

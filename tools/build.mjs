// Bundles src/ into the JavaScript of the package, dist/: a start loads a few dozen files instead of several hundred
// (docs/decisions/0010-package-bundle.md). Dependencies stay external, and names stay readable in stack traces.

import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { buildConsole } from './console.mjs';
import { zipScript } from '../src/server/pages/api-reference.ts';

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');
/** Entry points: the command line, and the threads and processes that `programFile` names. */
const programs = ['main', 'store/sqlite/worker', 'inference/schemas/worker', 'engines/llama/child'];

// All but the console, which is built again only where its sources have changed.
for (const name of existsSync(dist) ? readdirSync(dist) : [])
  if (name !== 'console') rmSync(join(dist, name), { recursive: true, force: true });
await buildConsole();
const bundle = await rolldown({
  input: Object.fromEntries(programs.map((name) => [name, join(root, 'src', `${name}.ts`)])),
  platform: 'node',
  external: /^[^./]/,
});
await bundle.write({
  dir: dist,
  entryFileNames: '[name].js',
  chunkFileNames: 'chunks/[name].js',
  // One chunk for the shared folders, instead of one for each combination of entry points.
  codeSplitting: { groups: [{ name: 'shared', test: /src\/(base|core)\// }] },
});
// The script of the API reference, so that an installed server does not need Scalar's package.
writeFileSync(join(dist, 'scalar.js.gz'), await zipScript());

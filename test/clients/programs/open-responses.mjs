import assert from 'node:assert/strict';
import { copyOf, runFile } from './checkouts.mjs';
import { key, run, url } from './cells.mjs';

const args = [
  'bin/compliance-test.ts',
  '--base-url',
  `${url}/v1`,
  '--api-key',
  key,
  '--model',
  'weather',
  '--json',
];
const { out, err } = await runFile(copyOf('bin', 'src'), args);
/** Results by name; empty if none were printed. */
function cellsOf() {
  const cells = {};
  if (!out.startsWith('{')) return cells;
  for (const { id, status, errors } of JSON.parse(out).results)
    cells[String(id)] = () => assert.equal(status, 'passed', JSON.stringify(errors));
  return cells;
}

const cells = cellsOf();
cells['all of them'] = () => assert.ok(Object.keys(cells).length > 17, out + err);
await run(cells);

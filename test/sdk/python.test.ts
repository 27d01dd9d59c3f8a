import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchEndpoints } from '../../src/core/batch.ts';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';
import { installPython, pythonIn } from '../support/install-packages.ts';
import type { Installed } from '../support/install-packages.ts';
import { runCells } from '../support/run-cells.ts';
import type { CellsOptions, CellsResult } from '../support/run-cells.ts';
import { until } from '../support/until.ts';
import { anthropicCells, openaiCells } from './matrix/cells.ts';
import { errorRows, retryHeaderRows, messageFor } from './errors/error-rows.ts';
import { startRaisingServer } from './errors/raising-server.ts';
import type { RaisingServer } from './errors/raising-server.ts';
import { startWeatherModel } from './matrix/weather-model.ts';

// The official Python clients with the cells of the JavaScript ones, one process per family. Without Python or a
// network, the tests are skipped with a message.

const pathOf = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const cache = pathOf('../../node_modules/.cache/offpeak-python');
const requirements = readFileSync(pathOf('python/requirements.txt'), 'utf8').trim().split('\n');

let environment: Installed;
let running: RunningApp;
let upstream: FakeUpstream;

beforeAll(async () => {
  environment = await installPython(cache, requirements);
  if ('missing' in environment) {
    console.warn(`SKIPPED: the tests of the Python clients, because ${environment.missing}.`);
    return;
  }
  upstream = await startWeatherModel();
  const weather = { ...testModel(upstreamEngine(upstream.url)), id: 'weather', aliases: [] };
  running = await startApp({ models: [testModel(), weather], batch: { endpoints: batchEndpoints } });
});

afterAll(async () => {
  await running?.stop();
  await upstream?.close();
});

const runScript = async (script: string, options: CellsOptions) =>
  'folder' in environment
    ? runCells(pythonIn(environment.folder), [pathOf(`python/${script}`)], options)
    : expect.fail(environment.missing);

const families = [
  {
    name: 'openai for Python',
    script: 'openai_cells.py',
    cells: openaiCells,
    lacks: ['chat: tool runner', 'responses: tool runner'],
  },
  { name: 'anthropic for Python', script: 'anthropic_cells.py', cells: anthropicCells, lacks: [] },
];

describe.each(families)('$name', ({ script, cells, lacks }) => {
  let result: CellsResult;

  beforeAll(async () => {
    if ('folder' in environment) result = await runScript(script, running);
  });

  it.for(cells.filter((cell) => !(lacks as string[]).includes(cell)))('%s', async (cell, { skip }) => {
    if ('missing' in environment) return skip(environment.missing);
    if (!result.cells.has(cell)) expect.fail(`the script did not come to this cell: ${result.end}`);
    expect(result.cells.get(cell) ?? 'worked').toBe('worked');
    if (cell.endsWith(': abort'))
      await until('the upstream sees that nobody listens', () =>
        upstream.received.some(({ aborted }) => aborted),
      );
  });
});

const rows = [...errorRows, ...retryHeaderRows].map((row, n) => ({
  ...row,
  n,
  title: `${row.status} ${row.code}${row.options?.shouldRetry === false ? ', not to be tried again' : ''}`,
  sentence: messageFor(row),
  param: row.options?.param ?? null,
}));

describe.each([
  { name: 'openai for Python', script: 'openai_errors.py', kinds: ['chat', 'responses'] },
  { name: 'anthropic for Python', script: 'anthropic_errors.py', kinds: ['messages'] },
])('errors in $name', ({ script, kinds }) => {
  let server: RaisingServer;
  let result: CellsResult;

  beforeAll(async () => {
    if ('missing' in environment) return;
    server = await startRaisingServer([...errorRows, ...retryHeaderRows]);
    result = await runScript(script, { ...server, input: rows });
  });
  afterAll(() => server?.stop());

  it.for(rows)('$title', ({ n, title, retried }, { skip }) => {
    if ('missing' in environment) return skip(environment.missing);
    if (!result.cells.has(title)) expect.fail(`the script did not come to this cell: ${result.end}`);
    expect(result.cells.get(title) ?? 'worked').toBe('worked');
    const attempts = kinds.map((kind) => server.attempts(`${n} python ${kind}`));
    expect(attempts).toEqual(kinds.map(() => (retried ? 2 : 1)));
  });
});

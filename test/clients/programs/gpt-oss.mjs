import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyOf, runFile } from './checkouts.mjs';
import { key, run, url } from './cells.mjs';

const folder = join(copyOf('compatibility-test'), 'compatibility-test');
// An entry of this file configures the server. When streaming, it expects a choice in every chunk, even in the usage
// chunk.
const provider = {
  apiBaseUrl: `${url}/v1`,
  apiKey: key,
  apiType: ['responses', 'chat'],
  modelName: 'thinker',
};
writeFileSync(
  join(folder, 'providers.ts'),
  `export const PROVIDERS = ${JSON.stringify({ offpeak: provider })};`,
);

const { out, err } = await runFile(folder, ['index.ts', '--provider', 'offpeak']);
const results = readdirSync(folder).filter((name) => name.startsWith('rollout_offpeak'));
const rows = results
  .flatMap((name) => readFileSync(join(folder, name), 'utf8').trim().split('\n'))
  .map(JSON.parse);

function passes(apiType) {
  const of = rows.filter(({ result }) => result?.apiType === apiType);
  assert.equal(of.length, 30, `${out}${err}${JSON.stringify(rows.find(({ error }) => error))}`);
  const wrong = of.filter(({ success }) => !success);
  assert.deepEqual(
    wrong.map(({ test_case: at, result }) => [at, result.details, result.toolCallingDetails]),
    [],
  );
}
await run({
  'responses: 30 of 30': () => passes('responses'),
  'chat: 30 of 30': () => passes('chat'),
});

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { exampleRequests, selfCommand } from './start.ts';

const root = dirname(dirname(import.meta.dirname));

it('in a checkout, shows a path that works from where the user stands', () => {
  expect(selfCommand({ env: {}, cwd: root })).toBe('bin/offpeak');
  expect(selfCommand({ env: {}, cwd: join(root, 'bin') })).toBe('./offpeak');
  expect(selfCommand({ env: {}, cwd: '/nowhere' })).toBe(join(root, 'bin/offpeak'));
  expect(exampleRequests({ cwd: root })).toBe('examples/demo.jsonl');
  expect(exampleRequests({ cwd: '/nowhere' })).toBe(join(root, 'examples/demo.jsonl'));
});

it('shows examples that every server with one model takes', () => {
  for (const name of ['demo', 'demo-embeddings']) {
    const lines = readFileSync(join(root, 'examples', `${name}.jsonl`), 'utf8')
      .trimEnd()
      .split('\n');
    const models = lines.map((line) => (JSON.parse(line) as { body: { model: string } }).body.model);
    expect(new Set(models)).toEqual(new Set(['default']));
  }
});

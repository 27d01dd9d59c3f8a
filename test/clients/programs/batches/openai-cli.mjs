import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { key, run, url } from '../cells.mjs';
import { failing, isEcho, line, linesOf, until } from './common.mjs';

const program = join(dirname(fileURLToPath(import.meta.url)), '../../program');
const env = { ...process.env, OPENAI_BASE_URL: `${url}/openai/v1`, OPENAI_API_KEY: key };

/** Output of the program. */
const openai = async (...args) => (await promisify(execFile)(program, args, { env })).stdout;
const json = async (...args) => JSON.parse(await openai(...args, '--format', 'json'));

async function create(...prompts) {
  const path = join(process.env.HOME, 'in.jsonl');
  writeFileSync(path, prompts.map((prompt, n) => line(`r${n}`, prompt)).join('\n'));
  const { id } = await json('files', 'create', '--file', path, '--purpose', 'batch');
  const endpoint = ['--endpoint', '/v1/chat/completions', '--completion-window', '24h'];
  return json('batches', 'create', '--input-file-id', id, ...endpoint);
}

const ended = (id) =>
  until(async () => {
    const found = await json('batches', 'retrieve', '--batch-id', id);
    return !['validating', 'in_progress', 'cancelling'].includes(found.status) && found;
  });

const content = (id) => openai('files', 'content', '--file-id', id, '--output', '-');

let batch;

await run({
  async 'openai: create'() {
    assert.match(await openai('--version'), new RegExp(`${process.env.VERSION}\\b`));
    const created = await create('one', failing, 'two', failing);
    batch = await ended(created.id);
    assert.deepEqual(batch.request_counts, { total: 4, completed: 2, failed: 2 });
  },

  async 'openai: results'() {
    const results = linesOf(await content(batch.output_file_id));
    isEcho(results.map(({ response }) => response.body.choices[0].message.content));
  },

  async 'openai: failed requests'() {
    const errors = linesOf(await content(batch.error_file_id));
    assert.deepEqual(errors.map(({ custom_id: id }) => id).toSorted(), ['r1', 'r3']);
    for (const { error } of errors) assert.ok(error.message && error.code);
  },

  async 'openai: list'() {
    const list = ['batches', 'list', '--limit', '1', '--max-items', '2', '--format', 'jsonl'];
    assert.equal(linesOf(await openai(...list))[0].id, batch.id);
  },

  async 'openai: cancel'() {
    const { id } = await create('[[hang]]');
    await openai('batches', 'cancel', '--batch-id', id);
    assert.equal((await ended(id)).status, 'cancelled');
  },
});

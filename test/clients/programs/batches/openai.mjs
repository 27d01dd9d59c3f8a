import assert from 'node:assert/strict';
import OpenAI, { AzureOpenAI, toFile } from 'openai';
import { key, run, url } from '../cells.mjs';
import { failing, isEcho, line, linesOf, until } from './common.mjs';

const clients = {
  openai: [new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: key }), '/v1/chat/completions'],
  azure: [new AzureOpenAI({ endpoint: url, apiKey: key, apiVersion: '2024-10-21' }), '/chat/completions'],
};

const cells = {};
for (const [surface, [client, endpoint]] of Object.entries(clients)) {
  const create = async (...prompts) => {
    const lines = prompts.map((prompt, n) => line(`r${n}`, prompt, endpoint)).join('\n');
    const file = await client.files.create({
      file: await toFile(Buffer.from(lines), 'in.jsonl'),
      purpose: 'batch',
    });
    return client.batches.create({ input_file_id: file.id, endpoint, completion_window: '24h' });
  };
  const ended = (id) =>
    until(async () => {
      const found = await client.batches.retrieve(id);
      return !['validating', 'in_progress', 'cancelling'].includes(found.status) && found;
    });
  const textOf = async (id) => (await client.files.content(id)).text();
  let batch;

  cells[`${surface}: create`] = async () => {
    const created = await create('one', failing, 'two', failing);
    assert.ok(Number.isInteger(created.created_at) && created.expires_at - created.created_at === 86_400);
    batch = await ended(created.id);
    assert.deepEqual(batch.request_counts, { total: 4, completed: 2, failed: 2 });
  };

  cells[`${surface}: results`] = async () => {
    const results = linesOf(await textOf(batch.output_file_id));
    isEcho(results.map(({ response }) => response.body.choices[0].message.content));
  };

  cells[`${surface}: failed requests`] = async () => {
    const errors = linesOf(await textOf(batch.error_file_id));
    assert.deepEqual(errors.map(({ custom_id: id }) => id).toSorted(), ['r1', 'r3']);
    for (const { error } of errors) assert.ok(error.message && error.code);
  };

  cells[`${surface}: list`] = async () => {
    const ids = [];
    for await (const { id } of client.batches.list({ limit: 1 })) ids.push(id);
    assert.equal(ids[0], batch.id);
  };

  cells[`${surface}: cancel`] = async () => {
    const { id } = await create('[[hang]]');
    await client.batches.cancel(id);
    assert.equal((await ended(id)).status, 'cancelled');
  };
}

await run(cells);

import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import { key, run, url } from '../cells.mjs';
import { failing, isEcho, until } from './common.mjs';

const { batches } = new Anthropic({ baseURL: `${url}/anthropic`, apiKey: key }).messages;

const create = (...prompts) =>
  batches.create({
    requests: prompts.map((content, n) => ({
      custom_id: `r${n}`,
      params: { model: 'tiny', max_tokens: 50, messages: [{ role: 'user', content }] },
    })),
  });
const ended = (id) =>
  until(async () => {
    const found = await batches.retrieve(id);
    return found.processing_status === 'ended' && found;
  });
let batch;

await run({
  'anthropic: create': async () => {
    batch = await ended((await create('one', failing, 'two', failing)).id);
    assert.deepEqual([batch.request_counts.succeeded, batch.request_counts.errored], [2, 2]);
  },
  'anthropic: results': async () => {
    const results = await Array.fromAsync(await batches.results(batch.id));
    isEcho(
      results.flatMap(({ result }) => (result.type === 'succeeded' ? [result.message.content[0].text] : [])),
    );
  },
  'anthropic: failed requests': async () => {
    const results = await Array.fromAsync(await batches.results(batch.id));
    const failed = results.filter(({ result }) => result.type === 'errored');
    assert.deepEqual(failed.map(({ custom_id: id }) => id).toSorted(), ['r1', 'r3']);
    for (const { result } of failed) assert.ok(result.error.error.message);
  },
  'anthropic: list': async () => {
    const ids = [];
    for await (const { id } of batches.list({ limit: 1 })) ids.push(id);
    assert.equal(ids[0], batch.id);
  },
  'anthropic: cancel': async () => {
    const { id } = await create('[[hang]]');
    await batches.cancel(id);
    assert.equal((await ended(id)).request_counts.canceled, 1);
  },
});

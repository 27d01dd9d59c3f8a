import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createAzure } from '@ai-sdk/azure';
import { createOpenAI } from '@ai-sdk/openai';
import { register } from 'tsx/esm/api';
import { copyOf } from '../checkouts.mjs';
import { key, run, url } from '../cells.mjs';
import { failing, isEcho } from './common.mjs';

const copy = copyOf('packages/batchwork');
const { version } = JSON.parse(readFileSync(`${copy}/packages/batchwork/package.json`, 'utf8'));
register();
const { batch, getBatch } = await import(`${copy}/packages/batchwork/src/index.ts`);

// The settings of the models are not used to send anything.
const settings = { apiKey: 'none' };
const models = {
  openai: [createOpenAI(settings).chat('tiny'), `${url}/openai/v1`],
  azure: [createAzure({ ...settings, resourceName: 'none' }).chat('tiny'), `${url}/openai/v1`],
  anthropic: [createAnthropic(settings)('tiny'), `${url}/anthropic`],
};

const cells = {};
for (const [surface, [model, baseURL]] of Object.entries(models)) {
  const at = { apiKey: key, baseURL };
  const create = (...prompts) =>
    batch({ model, ...at, requests: prompts.map((prompt, n) => ({ customId: `r${n}`, prompt })) });
  const ended = (job) => job.wait({ pollIntervalMs: 100, timeoutMs: 60_000 });
  let results;

  cells[`${surface}: create`] = async () => {
    assert.equal(version, process.env.VERSION);
    const { id, provider } = await create('one', failing, 'two', failing);
    const job = await getBatch({ id, provider, ...at });
    assert.equal((await ended(job)).status, 'completed');
    const { total, completed, failed } = job.requestCounts;
    assert.deepEqual([total, completed, failed], [4, 2, 2]);
    results = await job.collect();
  };

  cells[`${surface}: results`] = () =>
    isEcho(results.filter(({ status }) => status === 'succeeded').map(({ text }) => text));

  cells[`${surface}: failed requests`] = () => {
    const failed = results.filter(({ status }) => status === 'errored');
    assert.deepEqual(failed.map(({ customId }) => customId).toSorted(), ['r1', 'r3']);
    for (const { error } of failed) assert.ok(error.message);
  };

  cells[`${surface}: cancel`] = async () => {
    const job = await create('[[hang]]');
    await job.cancel();
    const { status } = await ended(job);
    // Anthropic's batches have no status of their own for this.
    const [result] = await job.collect();
    assert.ok(status === 'cancelled' || result.status === 'canceled');
  };
}

await run(cells);

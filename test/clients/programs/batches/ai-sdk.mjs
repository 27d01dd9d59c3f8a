import assert from 'node:assert/strict';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import {
  experimental_cancelBatch as cancelBatch,
  experimental_getBatchResults as getBatchResults,
  experimental_getBatchStatus as getBatchStatus,
  experimental_listBatches as listBatches,
  experimental_startBatch as startBatch,
} from 'ai';
import { key, run, url } from '../cells.mjs';
import { failing, isEcho, until } from './common.mjs';

const providers = {
  openai: createOpenAI({ baseURL: `${url}/openai/v1`, apiKey: key }),
  anthropic: createAnthropic({ baseURL: `${url}/anthropic/v1`, apiKey: key }),
};

const cells = {};
for (const [surface, provider] of Object.entries(providers)) {
  const started = (...prompts) =>
    startBatch({
      provider,
      requests: prompts.map((prompt, n) => ({
        id: `r${n}`,
        type: 'text',
        model: 'tiny',
        prompt,
        maxOutputTokens: 50,
      })),
    });
  const ended = (batch) =>
    until(async () => {
      const status = await getBatchStatus({ provider, batch });
      return status.status !== 'pending' && status;
    });
  let batch;

  cells[`${surface}: create`] = async () => {
    batch = await started('one', failing, 'two', failing);
    assert.equal(batch.status, 'pending');
    const { status, requestCounts } = await ended(batch);
    assert.equal(status, 'completed');
    assert.deepEqual(requestCounts, { total: 4, pending: 0, completed: 2, failed: 2 });
  };

  cells[`${surface}: results`] = async () => {
    const results = await Array.fromAsync(getBatchResults({ provider, batch }));
    const texts = results.flatMap(({ status, text }) => (status === 'succeeded' ? [text] : []));
    isEcho(texts);
  };

  cells[`${surface}: failed requests`] = async () => {
    const results = await Array.fromAsync(getBatchResults({ provider, batch }));
    const failed = results.filter(({ status }) => status === 'failed');
    assert.deepEqual(failed.map(({ id }) => id).toSorted(), ['r1', 'r3']);
    for (const { error } of failed) assert.ok(error.message);
  };

  cells[`${surface}: list`] = async () => {
    const page = await listBatches({ provider, limit: 1 });
    assert.equal(page.batches[0].id, batch.id);
  };

  cells[`${surface}: cancel`] = async () => {
    const slow = await started('[[hang]]');
    await cancelBatch({ provider, batch: slow });
    assert.match((await ended(slow)).rawStatus, /^(cancelled|ended)$/);
    const [result] = await Array.fromAsync(getBatchResults({ provider, batch: slow }));
    assert.equal(result.status, 'cancelled');
  };
}

await run(cells);

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Log, silent } from '../../src/base/log.ts';
import { ApiError } from '../../src/core/errors.ts';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import { chatLines, endings, jsonl } from '../support/batch-lines.ts';
import { completion, send, startFakeUpstream } from '../support/fake-upstream.ts';
import { mountSmallDisk } from '../support/small-disk.ts';
import { until } from '../support/until.ts';

const requests = 1_000;
const diskMb = 48;

describe('F36: a disk that fills up during a batch', () => {
  it('rejects new work, explains why the batch waits, and afterwards loses and repeats nothing', async ({
    skip,
    onTestFinished,
  }) => {
    const disk = mountSmallDisk(`${diskMb}m`);
    if ('reason' in disk) return skip(disk.reason);
    let asked = 0;
    let held: (() => void)[] | null = [];
    const upstream = await startFakeUpstream((response) => {
      upstream.received.length = 0;
      const answer = () => send(response, 200, completion('x'.repeat(10_000)));
      if (++asked > 100 && held) held.push(answer);
      else answer();
    });
    const lines: { message: string; err?: unknown }[] = [];
    const repeats: string[] = [];
    const write = (fields: object, message: string) => void lines.push({ ...fields, message });
    const log: Log = { ...silent, debug: (_, message) => void repeats.push(message) };
    const app = await startApp({
      data: join(disk.folder, 'data'),
      models: [testModel(upstreamEngine(upstream.url, 16))],
      overrides: { log: { ...log, info: write, warn: write, error: write } },
    });
    onTestFinished(async () => {
      await app.stop();
      await upstream.close();
      disk.remove();
    });
    const { api, url } = app;
    const { id } = await api.createBatch((await api.upload(chatLines(requests))).id);
    await until(
      'some results are stored',
      async () => (await api.batch(id)).request_counts.completed === 100,
    );

    const filling = join(disk.folder, 'filling');
    expect(() => writeFileSync(filling, Buffer.alloc(diskMb << 20))).toThrow('ENOSPC');
    for (const answer of held) answer();
    held = null;
    await until('the batch waits', async () => {
      return (await api.batch(id)).waiting?.reason === 'storage_unavailable';
    });
    const { status, text } = await api.sendFile(jsonl(chatLines(2_000)));
    expect([status, text]).toEqual([507, expect.stringContaining('insufficient_storage')]);
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
    const question = { model: 'tiny', messages: [{ role: 'user', content: 'Are you there?' }] };
    expect((await api.send('/v1/chat/completions', { json: question })).status).toBe(200);

    const failed = 'results could not be recorded; trying again';
    await until('the results are tried again', () => repeats.includes(failed));
    rmSync(filling);
    const batch = await api.finished(id);
    expect([batch.status, batch.waiting]).toEqual(['completed', null]);
    expect(batch.request_counts).toEqual({ total: requests, completed: requests, failed: 0 });
    const { distinct } = endings((await api.results(id, 'output')).text, '');
    expect([distinct.size, asked]).toEqual([requests, requests + 1]);
    const around = [failed, 'results are recorded again'];
    expect(around.map((each) => lines.filter(({ message }) => message === each).length)).toEqual([1, 1]);
    expect(lines.filter(({ err }) => err instanceof ApiError)).toEqual([]);
  });
});

import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { chatLines, endings, parseLines } from '../support/batch-lines.ts';
import { install, scriptedYaml } from '../support/server-process.ts';
import { until } from '../support/until.ts';

let running: RunningApp | undefined;

afterEach(async () => {
  await running?.stop();
  running = undefined;
});

/** Ends the window of every batch. */
function endWindow(data: string): void {
  const db = new DatabaseSync(join(data, 'offpeak.db'), { timeout: 60_000 });
  try {
    db.exec('UPDATE batches SET expires_at = created_at, accept_until = created_at');
  } finally {
    db.close();
  }
}

describe('a batch whose window ends', () => {
  it('expires with the finished results, and marks the rest as expired', async () => {
    running = await startApp();
    const { api, data } = running;
    const contents = (n: number) => (n < 60 ? `row-${n}` : `[[hang]] ${n}`);
    const { id } = await api.createBatch({ requests: chatLines(100, contents) });
    await until('some lines are done', async () => (await api.batch(id)).request_counts.completed > 0);
    endWindow(data);
    const batch = await api.finished(id);
    const { completed, failed } = batch.request_counts;
    expect(batch.status).toBe('expired');
    expect(completed).toBeGreaterThan(0);
    expect(completed + failed).toBe(100);
    const output = (await api.results(id, 'output')).text;
    const errors = (await api.results(id, 'errors')).text;
    expect(parseLines(output)).toHaveLength(completed);
    expect(endings(output, errors).distinct.size).toBe(100);
    for (const { error } of parseLines(errors))
      expect(error).toMatchObject({ code: 'batch_expired', retryable: true });
    expect((await api.send(`/v1/batches/${id}/cancel`, { method: 'POST' })).status).toBe(409);
  });

  it('expires while the server is down, because that time counts', async () => {
    const installation = install(scriptedYaml({ slots: 2, more: 'batch: { completion_window: 2h }\n' }));
    try {
      const first = await installation.start();
      const contents = (n: number) => (n < 5 ? `row-${n}` : `[[hang]] ${n}`);
      const { id } = await first.api.createBatch({ requests: chatLines(500, contents) });
      expect((await first.api.batch(id)).completion_window).toBe('2h');
      await first.end('SIGKILL');
      endWindow(installation.data);
      const second = await installation.start();
      const batch = await second.api.finished(id);
      expect(batch.status).toBe('expired');
      expect(batch.request_counts.completed + batch.request_counts.failed).toBe(500);
    } finally {
      await installation.remove();
    }
  });
});

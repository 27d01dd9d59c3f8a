import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { FileBody, ListBody } from '../support/api.ts';
import { chatLines, endings, parseLines } from '../support/batch-lines.ts';
import { createSeededRandom } from '../support/seeded-random.ts';
import { install, scriptedYaml } from '../support/server-process.ts';
import type { Installation, ServerProcess } from '../support/server-process.ts';
import { pause, until } from '../support/until.ts';

// The server dies while it writes the result files or cancels a batch. The files have the same content whichever process
// writes them, and are published once.

const holdBlobs = new URL('../support/hold-blobs.ts', import.meta.url).href;
let installation: Installation;

afterEach(() => installation?.remove());

/** Temporary files of the blobs: without uploads, only result files are written. */
function beingWritten(): string[] {
  const folder = join(installation.data, 'blobs', 'tmp');
  return readdirSync(folder).map((name) => join(folder, name));
}

/** Starts a server that stops writing a blob after `bytes` and one more write. */
function startHeld(bytes: number): Promise<ServerProcess> {
  const env = { NODE_OPTIONS: `--import ${holdBlobs}`, HOLD_BLOBS_AT: String(bytes) };
  return installation.start({ env });
}

async function resultFiles(server: ServerProcess): Promise<FileBody[]> {
  return (await server.api.get<ListBody<FileBody>>('/v1/files?purpose=batch_output')).data;
}

describe('F06: killed while the result files are written', () => {
  it('writes them again, byte for byte, and publishes each once', async () => {
    const lines = 1500;
    installation = install(scriptedYaml({ slots: 64, delay: '0ms' }));
    const content = (n: number) => (n % 10 === 3 ? '[[fail 400]]' : `[[tokens 3000]] row-${n}`);
    let id = '';
    let liveEnd = '';

    for (const megabytes of [1, 4, 8, 12]) {
      const bytes = megabytes * 2 ** 20;
      const server = await startHeld(bytes);
      if (id === '')
        ({ id } = await server.api.createBatch((await server.api.upload(chatLines(lines, content))).id));
      await until('a result file has reached the limit', () =>
        beingWritten().some((path) => statSync(path).size > bytes),
      );
      // Last lines of the live tail, from the rows; the files must end the same.
      liveEnd ||= (await server.api.results(id, 'output', 1340)).text;
      await server.end('SIGKILL');
    }
    const server = await installation.start();
    const batch = await server.api.finished(id);

    expect(batch).toMatchObject({
      status: 'completed',
      request_counts: { total: lines, completed: 1350, failed: 150 },
    });
    const live = {
      output: (await server.api.results(id, 'output')).text,
      errors: (await server.api.results(id, 'errors')).text,
    };
    const { all, distinct } = endings(live.output, live.errors);
    expect([all.length, distinct.size]).toEqual([lines, lines]);
    expect(parseLines(liveEnd)).toHaveLength(10);
    expect(live.output.endsWith(liveEnd)).toBe(true);
    const ids = { output: batch.output_file_id, errors: batch.error_file_id };
    expect(new Set((await resultFiles(server)).map((file) => file.id))).toEqual(new Set(Object.values(ids)));
    expect(await resultFiles(server)).toHaveLength(2);
    for (const stream of ['output', 'errors'] as const)
      expect((await server.api.send(`/v1/files/${ids[stream]}/content`)).text).toBe(live[stream]);
    expect(beingWritten()).toEqual([]);
  });
});

describe('F13: killed while a batch is cancelled', () => {
  it('ends cancelled, with all answers kept and errors for the other lines', async () => {
    const lines = 400;
    const random = createSeededRandom(13);
    installation = install(
      scriptedYaml({ slots: 8, delay: '20ms', more: 'batch: { cancel_grace: 300ms }\n' }),
    );
    let server = await installation.start();
    // The last lines never end, so that the batch is still running when it is cancelled.
    const content = (n: number) => (n < 300 ? `row-${n}` : `[[hang]] ${n}`);
    const file = await server.api.upload(chatLines(lines, content));
    for (let round = 0; round < 4; round++) {
      const { id } = await server.api.createBatch(file.id);
      const started = await until('some lines are done', async () => {
        const { request_counts: counts } = await server.api.batch(id);
        return counts.completed > 10 && counts;
      });
      const cancelled = await server.api.post<{ status: string }>(`/v1/batches/${id}/cancel`, {});
      expect(['cancelling', 'cancelled']).toContain(cancelled.status);
      await pause(random.int(0, 400));
      await server.end('SIGKILL');
      server = await installation.start();

      const batch = await server.api.finished(id);
      const output = (await server.api.results(id, 'output')).text;
      const errors = (await server.api.results(id, 'errors')).text;
      const { completed, failed, total } = batch.request_counts;
      expect(batch.status).toBe('cancelled');
      expect([total, completed + failed]).toEqual([lines, lines]);
      expect(completed).toBeGreaterThanOrEqual(started.completed);
      expect(parseLines(output)).toHaveLength(completed);
      expect(new Set(parseLines(errors).map((line) => line.error?.code))).toEqual(
        new Set(['batch_cancelled']),
      );
      expect(endings(output, errors).distinct.size).toBe(lines);
    }
    expect(await resultFiles(server)).toHaveLength(8);
  });
});

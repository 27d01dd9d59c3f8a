import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { FileBody, ListBody } from '../support/api.ts';
import { isFinished } from '../support/api.ts';
import { chatLines, endings, parseLines } from '../support/batch-lines.ts';
import { createSeededRandom } from '../support/seeded-random.ts';
import { install, scriptedYaml } from '../support/server-process.ts';
import type { Installation, ServerProcess } from '../support/server-process.ts';
import { pause, until } from '../support/until.ts';

// F06 and F13: the server dies while the result files are written, or while a batch is being cancelled. The files come out
// the same whoever writes them, and once.

let installation: Installation;

afterEach(() => installation?.remove());

/** The temporary files of the blobs: while no upload runs, only result files are written. */
function beingWritten(): string[] {
  return readdirSync(join(installation.data, 'blobs', 'tmp'));
}

async function resultFiles(server: ServerProcess): Promise<FileBody[]> {
  return (await server.api.get<ListBody<FileBody>>('/v1/files?purpose=batch_output')).data;
}

describe('killed while the result files are written', () => {
  it('writes them again, the same bytes, and publishes each once', async () => {
    const lines = 1500;
    const random = createSeededRandom(11);
    installation = install(scriptedYaml({ slots: 64, delay: '0ms' }));
    let server = await installation.start();
    const content = (n: number) => (n % 10 === 3 ? '[[fail 400]]' : `[[tokens 3000]] row-${n}`);
    const { id } = await server.api.createBatch((await server.api.upload(chatLines(lines, content))).id);
    const ends: string[] = [];

    let kills = 0;
    while (kills < 4) {
      const writing = await until(
        'result files are written',
        async () => {
          if (beingWritten().length > 0) return 'yes';
          return isFinished(await server.api.batch(id)) && 'over';
        },
        { everyMs: 0 },
      );
      if (writing === 'over') break;
      // The last lines of the live tail, from the rows; the files must end the same.
      if (kills === 0) ends.push((await server.api.results(id, 'output', 1340)).text);
      await pause(random.int(0, 20));
      await server.end('SIGKILL');
      kills++;
      server = await installation.start();
    }
    const batch = await server.api.finished(id);
    console.info(`${kills} kills while result files were written`);

    expect(kills).toBeGreaterThanOrEqual(2);
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
    expect(parseLines(ends[0]!)).toHaveLength(10);
    expect(live.output.endsWith(ends[0]!)).toBe(true);
    const ids = { output: batch.output_file_id, errors: batch.error_file_id };
    expect(new Set((await resultFiles(server)).map((file) => file.id))).toEqual(new Set(Object.values(ids)));
    expect(await resultFiles(server)).toHaveLength(2);
    for (const stream of ['output', 'errors'] as const)
      expect((await server.api.send(`/v1/files/${ids[stream]}/content`)).text).toBe(live[stream]);
    expect(beingWritten()).toEqual([]);
  });
});

describe('killed while a batch is cancelled', () => {
  it('ends cancelled, with what was answered kept and the rest told', async () => {
    const lines = 400;
    const random = createSeededRandom(13);
    installation = install(
      scriptedYaml({ slots: 8, delay: '20ms', more: 'batch: { cancel_grace: 300ms }\n' }),
    );
    let server = await installation.start();
    const file = await server.api.upload(chatLines(lines));
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

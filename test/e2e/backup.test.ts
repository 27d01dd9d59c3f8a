import { execFile } from 'node:child_process';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { chatLines, endings, parseLines } from '../support/batch-lines.ts';
import { install, scriptedYaml } from '../support/server-process.ts';
import type { Installation } from '../support/server-process.ts';
import { until } from '../support/until.ts';

const main = join(import.meta.dirname, '../../src/main.ts');
/** Enough for a batch that outlasts the backup on a busy machine: 2.5 s. */
const lines = 2_000;

let installation: Installation;

beforeAll(() => {
  installation = install(scriptedYaml({ slots: 8, delay: '10ms' }));
});

afterAll(() => installation?.remove());

it('a backup taken under load starts as a server that ends every line of every batch exactly once', async () => {
  const first = await installation.start();
  const { id: done } = await first.api.createBatch((await first.api.upload(chatLines(20))).id);
  await first.api.finished(done);
  const { id } = await first.api.createBatch((await first.api.upload(chatLines(lines))).id);
  await until(
    'the other is in its middle',
    async () => (await first.api.batch(id)).request_counts.completed > 100,
  );

  const copy = join(installation.folder, 'copy');
  const args = [main, 'backup', copy, '--data', installation.data, '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: installation.folder });
  expect(JSON.parse(stdout)).toMatchObject({ folder: copy, files: expect.any(Number) });
  const { status } = await first.api.batch(id);
  await first.end('SIGKILL');
  expect(status).toBe('in_progress');

  rmSync(installation.data, { recursive: true });
  renameSync(copy, installation.data);
  const second = await installation.start();
  expect((await second.api.finished(id)).request_counts).toEqual({
    total: lines,
    completed: lines,
    failed: 0,
  });
  const { all, distinct } = endings((await second.api.results(id, 'output')).text, '');
  expect([all.length, distinct.size]).toEqual([lines, lines]);
  const { output_file_id: output } = await second.api.batch(done);
  expect(parseLines((await second.api.send(`/v1/files/${output}/content`)).text)).toHaveLength(20);
});

const moving = `files: { store: s3://bucket, fallback: disk }
s3: { access_key: a, secret_key: b }
`;

it('reports what prevents a backup', async () => {
  const run = (...more: string[]) =>
    promisify(execFile)(process.execPath, [main, 'backup', ...more], { cwd: installation.folder }).catch(
      (error: { stderr: string }) => error.stderr,
    );
  expect(await run('data', '--data', installation.data)).toContain('data is not empty');
  expect(await run('data/blobs/copy', '--data', 'data')).toContain(
    'data/blobs/copy is inside the data folder',
  );
  writeFileSync(join(installation.folder, 'file'), '');
  expect(await run('file', '--data', installation.data)).toContain('file is a file.');
  expect(await run('new', '--data', join(installation.folder, 'nowhere'))).toContain('No database in');
  writeFileSync(join(installation.folder, 'moving.yaml'), moving);
  expect(await run('new', '--config', 'moving.yaml')).toContain('The files are in two stores');
});

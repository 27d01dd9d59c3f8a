import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { chatLines, endings } from '../support/batch-lines.ts';
import { accessKey, secretKey, startObjectStore } from '../support/object-store.ts';
import { install, type Installation, scriptedYaml, type ServerProcess } from '../support/server-process.ts';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** Runs `offpeak migrate blobs`; `onStart` gets a function that kills it. */
async function migrate({ folder, data }: Installation, onStart: (kill: () => void) => void = () => {}) {
  const flags = ['--data', data, '--config', join(folder, 'offpeak.yaml'), '--delete', '--json'];
  const child = spawn(process.execPath, [main, 'migrate', 'blobs', ...flags], { cwd: folder });
  const seen = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (seen.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (seen.err += text));
  onStart(() => child.kill('SIGKILL'));
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  return { code, signal, ...seen };
}

it('moves the files into a bucket and back, killed on its way, while batches run', async ({
  onTestFinished,
}) => {
  const store = await startObjectStore();
  onTestFinished(() => store.close());
  const bucket = `s3://${store.config.bucket}/${store.config.prefix}`;
  const s3 = `s3: { endpoint: "${store.config.endpoint}", region: ${store.config.region}, access_key: ${accessKey}, secret_key: "${secretKey}" }`;
  const yaml = (files: string) => scriptedYaml({ delay: '20ms', more: `${files}\n` });
  const installation = install(yaml('files: disk'));
  onTestFinished(() => installation.remove());
  const contents = async ({ api }: ServerProcess, files: string[]) =>
    Promise.all(files.map(async (id) => (await api.send(`/v1/files/${id}/content`)).text));

  let server = await installation.start();
  const uploads = await Promise.all(
    Array.from({ length: 6 }, (_, at) => server.api.upload(chatLines(20 + at))),
  );
  const { id } = await server.api.createBatch(uploads[0]!.id);
  const { output_file_id: output } = await server.api.finished(id);
  const files = [...uploads.map((upload) => upload.id), output!];
  const before = await contents(server, files);
  await server.end('SIGTERM');

  const onDisk = () => blobsOnDisk(installation.data);
  const inBucket = () => [...store.objects.keys()].filter((key) => key.includes('blob_'));
  /** Moves all files while a batch runs and reads its input, with a kill at a request of the move. */
  async function moveAll(files_: string, at: RegExp): Promise<void> {
    installation.configure(yaml(`files: ${files_}\n${s3}`));
    server = await installation.start();
    const batch = await server.api.createBatch(uploads[5]!.id);
    const killed = await migrate(installation, (kill) => {
      let seen = 0;
      store.fault = (request) => {
        if (at.test(request) && ++seen === 3) kill();
        return undefined;
      };
    });
    expect(killed.signal).toBe('SIGKILL');
    store.fault = () => undefined;
    expect(await contents(server, files)).toEqual(before);
    const done = await migrate(installation);
    expect([done.code, JSON.parse(done.out)]).toEqual([
      0,
      expect.objectContaining({ damaged: [], failed: [] }),
    ]);
    expect(await contents(server, files)).toEqual(before);
    await server.api.finished(batch.id);
    const results = [
      (await server.api.results(batch.id, 'output')).text,
      (await server.api.results(batch.id, 'errors')).text,
    ] as const;
    expect(endings(...results).distinct.size).toBe(25);
    await server.end('SIGTERM');
  }

  await moveAll(`{ store: "${bucket}", fallback: disk }`, /^PUT .*blob_/);
  expect([onDisk(), inBucket().length > 12]).toEqual([[], true]);
  installation.configure(yaml(`files: "${bucket}"\n${s3}`));
  server = await installation.start();
  expect(await contents(server, files)).toEqual(before);
  await server.end('SIGTERM');

  await moveAll(`{ store: disk, fallback: "${bucket}" }`, /^DELETE .*blob_/);
  expect([inBucket(), onDisk().length > 12]).toEqual([[], true]);
  installation.configure(yaml('files: disk'));
  server = await installation.start();
  expect(await contents(server, files)).toEqual(before);
});

function blobsOnDisk(data: string): string[] {
  const folder = join(data, 'blobs');
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.startsWith('blob_'))
    .map(({ name }) => name);
}

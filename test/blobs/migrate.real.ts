import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { chatLines, endings, jsonl } from '../support/batch-lines.ts';
import { startPostgres } from '../support/postgres.ts';
import { install, processKey, scriptedYaml, type ServerProcess } from '../support/server-process.ts';
import { realStores, startRealStore } from './real-stores.ts';

// 1 GB of files moves into a real object store and back, killed on its way, while two servers run batches and are restarted
// one after the other with each configuration.

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const [versitygw] = realStores;
const program = await versitygw!.find();
const postgres = await startPostgres();
if (typeof program !== 'string') console.warn(`SKIPPED, no files are moved: ${program.reason}`);
const [count, size] = [32, 32 * 1024 * 1024];

describe.skipIf(typeof program !== 'string' || 'reason' in postgres)('1 GB of files', () => {
  it('moves to a bucket and back byte for byte', async () => {
    if (typeof program !== 'string' || 'reason' in postgres) return;
    const store = await startRealStore(versitygw!, program);
    const { bucket, prefix, endpoint, region, keys } = store.bucket;
    const { accessKey, secretKey } = keys as { accessKey: string; secretKey: string };
    const database = await postgres.createDatabase();
    const url = `s3://${bucket}/${prefix}`;
    const yaml = (files: string, usesBucket = true) =>
      scriptedYaml({
        slots: 4,
        delay: '50ms',
        more: [
          `database: ${database}`,
          `files: { ${files}, purposes: [batch, user_data], bytes: ${size} }`,
          usesBucket
            ? `s3: { endpoint: "${endpoint}", region: ${region}, access_key: ${accessKey}, secret_key: "${secretKey}" }`
            : '',
        ].join('\n'),
      });
    const installation = install(yaml('store: disk', false));
    const servers: ServerProcess[] = [await installation.start(), await installation.start()];
    const sums = new Map<string, string>();
    for (let at = 0; at < count; at++) {
      const bytes = randomBytes(size);
      const form = new FormData();
      form.append('purpose', 'user_data');
      form.append('file', new Blob([bytes]), `file-${at}`);
      const headers = { authorization: `Bearer ${processKey}` };
      const reply = await fetch(`${servers[at % 2]!.url}/v1/files`, { method: 'POST', headers, body: form });
      expect(reply.status).toBe(201);
      sums.set(((await reply.json()) as { id: string }).id, sha256(bytes));
    }
    const lines = chatLines(2_000);
    const input = await servers[0]!.api.upload(lines);
    const batches = [(await servers[0]!.api.createBatch(input.id)).id];

    /** Content of a file from a server that runs. */
    const read = async (id: string, server: ServerProcess) => {
      const headers = { authorization: `Bearer ${processKey}` };
      const reply = await fetch(`${server.url}/v1/files/${id}/content`, { headers });
      return { status: reply.status, bytes: new Uint8Array(await reply.arrayBuffer()) };
    };
    /** Restarts the servers one after the other, and reads files at the other one meanwhile. */
    const roll = async (files: string, usesBucket = true) => {
      installation.configure(yaml(files, usesBucket));
      for (const at of [0, 1]) {
        const restarted = servers[at]!.end('SIGTERM').then(() => installation.start());
        const other = servers[1 - at]!;
        for (const id of [input.id, [...sums.keys()][at]!]) {
          const { status, bytes } = await read(id, other);
          expect([status, sha256(bytes)]).toEqual([200, sums.get(id) ?? sha256(Buffer.from(jsonl(lines)))]);
        }
        servers[at] = await restarted;
      }
    };
    const migrate = async (killAfterMs?: number) => {
      const flags = ['--data', installation.data, '--config', join(installation.folder, 'offpeak.yaml')];
      const child = spawn(process.execPath, [main, 'migrate', 'blobs', ...flags, '--delete', '--json']);
      let [out, err] = ['', ''];
      child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
      child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
      const timer =
        killAfterMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfterMs);
      let reads = 0;
      const ended = once(child, 'close');
      while (child.exitCode === null && child.signalCode === null) {
        const id = [...sums.keys()][reads % count]!;
        const { status, bytes } = await read(id, servers[reads++ % 2]!);
        expect([id, status, sha256(bytes)]).toEqual([id, 200, sums.get(id)]);
      }
      const [code] = (await ended) as [number | null];
      clearTimeout(timer);
      return { code, out, err, reads };
    };
    const move = async () => {
      const began = performance.now();
      for (const killAfterMs of [8_000, 16_000]) await migrate(killAfterMs);
      batches.push((await servers[1]!.api.createBatch(input.id)).id);
      const { code, out, err } = await migrate();
      expect([code, err.includes('rror')]).toEqual([0, false]);
      console.log('MOVED', Math.round(performance.now() - began), 'ms', out.trim());
    };

    await roll(`store: disk, fallback: "${url}"`);
    await roll(`store: "${url}", fallback: disk`);
    await move();
    expect(bytesOnDisk(installation.data)).toBe(0);
    await roll(`store: "${url}"`);
    for (const [id, sum] of sums) expect(sha256((await read(id, servers[0]!)).bytes)).toBe(sum);

    await roll(`store: "${url}", fallback: disk`);
    await roll(`store: disk, fallback: "${url}"`);
    await move();
    expect(bytesOnDisk(installation.data)).toBeGreaterThan(count * size);
    await roll('store: disk', false);
    for (const [id, sum] of sums) expect(sha256((await read(id, servers[1]!)).bytes)).toBe(sum);

    for (const id of batches) {
      await servers[0]!.api.finished(id);
      const results = [
        await servers[0]!.api.results(id, 'output'),
        await servers[0]!.api.results(id, 'errors'),
      ];
      const { all, distinct } = endings(results[0]!.text, results[1]!.text);
      expect([all.length, distinct.size]).toEqual([lines.length, lines.length]);
    }
    await installation.remove();
    await store.stop();
    await postgres.stop();
  });
});

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function bytesOnDisk(data: string): number {
  return readdirSync(join(data, 'blobs'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.startsWith('blob_'))
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

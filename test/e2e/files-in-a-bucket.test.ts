import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { chatLines, endings, jsonl } from '../support/batch-lines.ts';
import { startCountingUpstream } from '../support/counting-upstream.ts';
import { accessKey, secretKey as rightSecret, startObjectStore } from '../support/object-store.ts';
import type { ObjectStore } from '../support/object-store.ts';
import { startPostgres } from '../support/postgres.ts';
import type { PostgresServer } from '../support/postgres.ts';
import { install, upstreamYaml } from '../support/server-process.ts';
import { until } from '../support/until.ts';

const postgres = await startPostgres();

if ('reason' in postgres) it.skip(`servers with files in a bucket (skipped: ${postgres.reason})`, () => {});
else describe('servers with files in a bucket', () => serverTests(postgres));

function bucketYaml({ config }: ObjectStore, { secretKey = rightSecret } = {}): string {
  return `files: s3://${config.bucket}/${config.prefix}
s3: { endpoint: "${config.endpoint}", region: ${config.region}, access_key: ${accessKey}, secret_key: "${secretKey}" }
`;
}

function serverTests(database: PostgresServer): void {
  afterAll(() => database.stop());

  it('F38: share a batch and its files without a shared folder, while the store fails occasionally', async ({
    onTestFinished,
  }) => {
    const store = await startObjectStore();
    onTestFinished(() => store.close());
    const upstream = await startCountingUpstream();
    onTestFinished(() => upstream.close());
    const more = `database: ${await database.createDatabase()}\n`;
    const onMachine = (files: string) => {
      const installation = install(upstreamYaml(upstream.url, { more: more + files }));
      onTestFinished(() => installation.remove());
      return installation;
    };
    const machines = [onMachine(bucketYaml(store)), onMachine(bucketYaml(store))] as const;
    let requests = 0;
    store.fault = () => {
      requests++;
      if (requests % 9 === 0) return { status: 503, code: 'SlowDown' };
      return requests % 13 === 0 ? 'lose answer' : undefined;
    };
    const [first, second] = [await machines[0].start(), await machines[1].start()];

    const lines = chatLines(400);
    const file = await first.api.upload(lines);
    const content = await second.api.send(`/v1/files/${file.id}/content`);
    expect([content.status, content.text]).toEqual([200, jsonl(lines)]);
    const { id } = await second.api.createBatch(file.id);
    await until('both work on it', () => upstream.total() >= 100);
    await first.end('SIGTERM');
    const batch = await second.api.finished(id);
    expect(batch.request_counts).toEqual({ total: 400, completed: 400, failed: 0 });

    const third = await onMachine(bucketYaml(store)).start();
    const output = (await third.api.results(id, 'output')).text;
    const { all, distinct } = endings(output, (await third.api.results(id, 'errors')).text);
    expect([all.length, distinct.size]).toEqual([400, 400]);
    for (const { data } of machines) expect(existsSync(join(data, 'blobs'))).toBe(false);
    expect(readdirSync(machines[1].data).filter((name) => !/^models$|^lock/.test(name))).toEqual([]);

    store.fault = () => undefined;
    const wrong = await onMachine(bucketYaml(store, { secretKey: 'mistyped' })).runToExit();
    expect(wrong.code).not.toBe(0);
    expect(wrong.stderr).toContain('the secret of the key AKIATEST is wrong');
    expect(wrong.stderr).toContain('Check s3.access_key and s3.secret_key');
  });
}

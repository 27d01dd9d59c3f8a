import { join } from 'node:path';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { chatLines } from '../support/batch-lines.ts';
import { accessKey, secretKey, startObjectStore } from '../support/object-store.ts';
import { install, scriptedYaml } from '../support/server-process.ts';
import { runCli } from './support/run-cli.ts';

const store = await startObjectStore();
const installation = install(scriptedYaml());
const server = await installation.start();
await server.api.upload(chatLines(3));
await server.end('SIGTERM');
afterAll(async () => {
  await store.close();
  await installation.remove();
});

const { bucket, prefix, endpoint, region } = store.config;
const s3 = `s3: { endpoint: "${endpoint}", region: ${region}, access_key: ${accessKey}, secret_key: "${secretKey}" }`;
const intoBucket = `files: { store: "s3://${bucket}/${prefix}", fallback: disk }\n${s3}`;

beforeEach(() => {
  store.objects.clear();
  store.fault = () => undefined;
});

/** Runs the command with these stores. */
function migrate(files: string, ...more: string[]) {
  installation.configure(scriptedYaml({ more: `${files}\n` }));
  const config = join(installation.folder, 'offpeak.yaml');
  const env = { OFFPEAK_API_KEY: '' };
  return runCli(['migrate', 'blobs', '--config', config, '--data', installation.data, ...more], { env });
}

it('copies and verifies all files, and says so', async () => {
  const first = await migrate(intoBucket);
  expect([first.code, first.out]).toEqual([
    0,
    expect.stringMatching(
      /^s3:\/\/files\/off\/peak has 2 files of \S+\/blobs, verified: 2 copied now \(.+\), 0 before\.\n$/,
    ),
  ]);
  const again = await migrate(intoBucket, '--json');
  expect(JSON.parse(again.out)).toMatchObject({ copied: 0, bytes: 0, present: 2, removed: 0 });
});

it('replaces what was changed in the bucket, and ends with 1 for what cannot be copied', async () => {
  await migrate(intoBucket);
  const [key] = [...store.objects.keys()].filter((each) => each.includes('blob_'));
  store.objects.get(key!)!.body.fill(0, 0, 1);
  expect(JSON.parse((await migrate(intoBucket, '--json')).out)).toMatchObject({ copied: 1, present: 1 });
  store.objects.delete(key!);
  store.fault = (request) => {
    // The bucket loses a byte of what it stores.
    const stored = request.startsWith('GET') && request.includes(key!) && store.objects.get(key!);
    if (stored) stored.body = stored.body.subarray(1);
    return undefined;
  };
  const { code, out } = await migrate(intoBucket);
  expect([code, out]).toEqual([1, expect.stringContaining('its copy reads differently and was removed')]);
  expect(store.objects.has(key!)).toBe(false);
});

it('ends with 5 while the store is away, and says how to go on', async () => {
  store.fault = (request) =>
    /^PUT .*blob_/.test(request) ? { status: 403, code: 'AccessDenied' } : undefined;
  const { code, err } = await migrate(intoBucket);
  expect(code).toBe(5);
  expect(err).toContain('lacks permissions for the bucket files');
  expect(err).toContain('Run the command again to go on');
});

it('refuses stores that do not belong together', async () => {
  store.objects.set(`${prefix}installation`, { body: Buffer.from('inst_other\n'), modifiedAt: 0 });
  expect((await migrate(intoBucket)).err).toContain('it is of installation inst_other');
  store.objects.clear();
  store.objects.set(`${prefix}00/blob_${'0'.repeat(32)}`, { body: Buffer.from('x'), modifiedAt: 0 });
  const unlabelled = await migrate(intoBucket);
  expect([unlabelled.code, unlabelled.err]).toEqual([
    1,
    expect.stringContaining('it has files but no label'),
  ]);
});

it('says what is missing in the configuration', async () => {
  expect((await migrate('files: disk')).err).toContain('the configuration has no files.fallback');
  const elsewhere = await migrate(intoBucket, '--data', join(installation.folder, 'nowhere'));
  expect([elsewhere.code, elsewhere.err]).toEqual([1, expect.stringContaining('No database in')]);
});

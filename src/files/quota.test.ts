import { afterEach, beforeEach, expect, it } from 'vitest';
import { callerFor, startFiles } from '../../test/support/files.ts';
import type { Caller } from '../core/org.ts';
import type { Upload } from './files.ts';

// Attack 5: files fill the disk. Quotas refuse bytes before they are written.

let system: Awaited<ReturnType<typeof startFiles>>;
beforeEach(async () => {
  system = await startFiles({}, undefined, 1_000);
});
afterEach(() => system.stop());

const line = (bytes: number) => {
  const text = JSON.stringify({
    custom_id: 'a',
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model: 'tiny', messages: [{ role: 'user', content: '' }] },
  });
  return Buffer.from(
    `${text.replace('"content":""', `"content":"${'x'.repeat(bytes - text.length - 1)}"`)}\n`,
  );
};
const meta = { filename: 'in.jsonl', expiresAt: null };
const one = callerFor('org_1');
const limited = (org: number | undefined, key?: number): Caller => ({
  ...one,
  limits: {
    org: org === undefined ? {} : { storedBytes: org },
    key: key === undefined ? {} : { storedBytes: key },
  },
});

async function store(bytes: number, caller = one): Promise<string> {
  const upload = await system.files.begin(caller);
  await upload.write(line(bytes));
  return (await (await upload.seal(meta)).commit(undefined)).file.id;
}
const refused = { code: 'storage_quota_exceeded', status: 402 };

it('C22: stores files up to the limit of the org, and again once some are deleted (attack 5)', async () => {
  const first = await store(600);
  await expect(store(401)).rejects.toMatchObject({
    ...refused,
    message: expect.stringContaining('of this org would exceed its limit of 1000 bytes (stored_bytes)'),
  });
  await store(400);
  await expect(store(200)).rejects.toMatchObject(refused);
  await system.files.remove(one, first);
  await store(600);
  // Other orgs have room of their own.
  await store(1_000, callerFor('org_2'));
});

it('refuses an upload as soon as its bytes exceed the limit, and keeps nothing of it (attack 5)', async () => {
  const upload = await system.files.begin(one);
  await upload.write(Buffer.alloc(900, '{'));
  await expect(upload.write(Buffer.alloc(101, '{'))).rejects.toMatchObject(refused);
  expect([...system.blobs.stored.keys()]).toEqual([]);
  await store(1_000);
});

it('counts uploads in progress together, until they end (attack 5)', async () => {
  const uploads: Upload[] = [];
  for (let at = 0; at < 3; at++) uploads.push(await system.files.begin(one));
  await uploads[0]!.write(line(500));
  await uploads[1]!.write(line(500));
  await expect(uploads[2]!.write(line(200))).rejects.toMatchObject(refused);
  await uploads[0]!.abort();
  await store(500);
  await (await uploads[1]!.seal(meta)).commit(undefined);
  await expect(store(200)).rejects.toMatchObject(refused);
});

it('applies the limits of the org and of the key in place of the default (attack 5)', async () => {
  await store(1_500, limited(2_000));
  await expect(store(600, limited(2_000))).rejects.toMatchObject(refused);
  await expect(store(500, limited(undefined))).rejects.toMatchObject(refused);
  await expect(store(300, limited(9_000, 1_700))).rejects.toMatchObject({
    ...refused,
    message: expect.stringContaining('of this API key would exceed its limit of 1700 bytes'),
  });
  await store(200, limited(9_000, 1_700));
});

it('is decided by the store, where another process stored files meanwhile (attack 5)', async () => {
  const upload = await system.files.begin(one);
  await upload.write(line(600));
  const sealed = await upload.seal(meta);
  await store(600);
  await expect(sealed.commit(undefined)).rejects.toMatchObject(refused);
});

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { silent } from '../../src/base/log.ts';
import { systemClock, systemRandom } from '../../src/base/system.ts';
import { readKeys } from '../../src/s3/key-sources.ts';
import { createKeys } from '../../src/s3/keys.ts';
import { createS3Blobs } from '../../src/blobs/s3/s3.ts';
import type { BucketKeys } from '../../src/core/bucket-keys.ts';
import { accessKey, type ObjectStore, secretKey, startObjectStore } from '../support/object-store.ts';

const minute = 60_000;
const folder = mkdtempSync(join(tmpdir(), 'keys-'));
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

/** Scripted endpoint of an issuer of keys: STS, a container platform or the metadata of an instance. */
let issuer: {
  url: string;
  asked: string[];
  answer: (request: IncomingMessage, body: string) => [number, string];
};
let close: () => Promise<void>;
beforeAll(async () => {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      issuer.asked.push(`${request.method} ${request.url}`);
      const [status, text] = issuer.answer(request, body);
      response.writeHead(status).end(text);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  issuer = { url: `http://127.0.0.1:${port}`, asked: [], answer: () => [500, ''] };
  close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
});
beforeEach(() => void (issuer.asked.length = 0));
afterAll(async () => {
  await close();
  rmSync(folder, { recursive: true, force: true });
});

const json = (token: string, end: number) =>
  JSON.stringify({
    AccessKeyId: accessKey,
    SecretAccessKey: secretKey,
    Token: token,
    Expiration: new Date(end).toISOString(),
  });

describe('keys of a bucket are read', () => {
  test('from a shared credentials file', async () => {
    const path = file(
      'credentials',
      `# mine\n[default]\naws_access_key_id = A\naws_secret_access_key=B=\n\n[prod]\naws_access_key_id=C\naws_secret_access_key = D\naws_session_token = T\n`,
    );
    expect(await readKeys({ kind: 'file', path, profile: 'default' })).toEqual({
      accessKeyId: 'A',
      secretAccessKey: 'B=',
      sessionToken: undefined,
      expiresAt: undefined,
    });
    expect(await readKeys({ kind: 'file', path, profile: 'prod' })).toMatchObject({
      accessKeyId: 'C',
      sessionToken: 'T',
    });
    await expect(readKeys({ kind: 'file', path, profile: 'none' })).rejects.toThrow('the profile none in');
  });

  test('from STS for the token of a pod', async () => {
    issuer.answer = (request, body) => {
      const sent = new URLSearchParams(body);
      expect([request.method, sent.get('Action'), sent.get('WebIdentityToken'), sent.get('RoleArn')]).toEqual(
        ['POST', 'AssumeRoleWithWebIdentity', 'jwt', 'arn:x'],
      );
      return [
        200,
        `<R><Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>B&amp;</SecretAccessKey><SessionToken>T</SessionToken><Expiration>2030-01-01T00:00:00Z</Expiration></Credentials></R>`,
      ];
    };
    const keys: BucketKeys = {
      kind: 'web_identity',
      roleArn: 'arn:x',
      tokenFile: file('jwt', 'jwt\n'),
      sessionName: 'offpeak',
      endpoint: issuer.url,
    };
    expect(await readKeys(keys)).toEqual({
      accessKeyId: 'A',
      secretAccessKey: 'B&',
      sessionToken: 'T',
      expiresAt: Date.UTC(2030, 0, 1),
    });
    issuer.answer = () => [
      403,
      '<E><Error><Code>AccessDenied</Code><Message>Not authorized</Message></Error></E>',
    ];
    await expect(readKeys(keys)).rejects.toThrow(/answered 403: Not authorized$/);
  });

  test('from the endpoint of a container platform', async () => {
    issuer.answer = ({ headers }) =>
      headers.authorization === 'pod token' ? [200, json('T', Date.UTC(2030, 0, 1))] : [401, ''];
    const keys: BucketKeys = {
      kind: 'container',
      url: `${issuer.url}/v1/credentials`,
      token: undefined,
      tokenFile: file('pod', 'pod token\n'),
    };
    expect(await readKeys(keys)).toMatchObject({ sessionToken: 'T', expiresAt: Date.UTC(2030, 0, 1) });
    await expect(readKeys({ ...keys, tokenFile: undefined })).rejects.toThrow('answered 401');
  });

  test('from the metadata of an instance, with a token', async () => {
    issuer.answer = ({ method, url, headers }) => {
      if (method === 'PUT')
        return headers['x-aws-ec2-metadata-token-ttl-seconds'] ? [200, 'session'] : [400, ''];
      if (headers['x-aws-ec2-metadata-token'] !== 'session') return [401, ''];
      return url!.endsWith('/security-credentials/')
        ? [200, 'batch-role']
        : [200, json('T', Date.UTC(2030, 0, 1))];
    };
    expect(await readKeys({ kind: 'instance', endpoint: issuer.url })).toMatchObject({
      accessKeyId: accessKey,
    });
    expect(issuer.asked.at(-1)).toBe('GET /latest/meta-data/iam/security-credentials/batch-role');
  });
});

describe('keys that expire', () => {
  const source: BucketKeys = {
    kind: 'container',
    url: 'http://127.0.0.1:1',
    token: undefined,
    tokenFile: undefined,
  };
  const rotating = () => {
    const state = { now: 0, reads: 0, fails: false, warnings: 0 };
    const keys = createKeys({
      keys: source,
      now: () => state.now,
      log: { ...silent, warn: () => void state.warnings++ },
      read: async () => {
        state.reads++;
        if (state.fails) throw new Error('gone');
        return {
          accessKeyId: `key ${state.reads}`,
          secretAccessKey: 's',
          sessionToken: 't',
          expiresAt: state.now + 60 * minute,
        };
      },
    });
    const id = async () => (await keys.current()).accessKeyId;
    return { state, keys, id };
  };

  test('are read once for all requests, and renewed five minutes before their end while they still serve', async () => {
    const { state, id } = rotating();
    expect(await Promise.all([id(), id(), id()])).toEqual(['key 1', 'key 1', 'key 1']);
    state.now = 54 * minute;
    expect(await id()).toBe('key 1');
    expect(state.reads).toBe(1);
    state.now = 56 * minute;
    expect(await id()).toBe('key 1');
    await Promise.resolve();
    expect([await id(), state.reads]).toEqual(['key 2', 2]);
  });

  test('serve until their end if their renewal fails', async () => {
    const { state, id } = rotating();
    await id();
    state.fails = true;
    state.now = 56 * minute;
    expect(await id()).toBe('key 1');
    expect(await id()).toBe('key 1');
    await new Promise((resolve) => setImmediate(resolve));
    expect([state.reads, state.warnings]).toEqual([2, 1]);
    state.now = 61 * minute;
    await expect(id()).rejects.toMatchObject({
      code: 'unavailable',
      message: 'The keys of the bucket cannot be read: gone.',
      hint: 'Check the identity of the pod or the role of the task.',
    });
    state.fails = false;
    expect(await id()).toMatch(/^key \d$/);
  });
});

describe('a bucket with keys of a platform', () => {
  let store: ObjectStore;
  beforeAll(async () => {
    store = await startObjectStore();
  });
  afterAll(() => store.close());

  test('goes on when the platform exchanges them early', async () => {
    let token = 'first';
    issuer.answer = () => [200, json(token, Date.now() + 60 * minute)];
    store.sessionToken = 'first';
    const keys: BucketKeys = { kind: 'container', url: issuer.url, token: undefined, tokenFile: undefined };
    const blobs = createS3Blobs({
      bucket: { ...store.config, keys },
      clock: systemClock,
      random: systemRandom,
      log: silent,
    });
    await blobs.start();
    expect(issuer.asked).toHaveLength(1);
    token = 'second';
    store.sessionToken = 'second';
    await blobs.label('inst_1');
    expect(await blobs.readLabel()).toBe('inst_1');
    expect(issuer.asked).toHaveLength(2);
    await blobs.stop();
  });

  test('does not start without them, and says why', async () => {
    issuer.answer = () => [404, ''];
    const keys: BucketKeys = { kind: 'instance', endpoint: issuer.url };
    const blobs = createS3Blobs({
      bucket: { ...store.config, keys },
      clock: systemClock,
      random: systemRandom,
      log: silent,
    });
    await expect(blobs.start()).rejects.toMatchObject({
      message: expect.stringMatching(
        /^The keys of the bucket cannot be read: 127\.0\.0\.1:\d+ answered 404\.$/,
      ),
      hint: 'Give the instance a role, or set s3.access_key and s3.secret_key.',
    });
    await blobs.stop();
  });
});

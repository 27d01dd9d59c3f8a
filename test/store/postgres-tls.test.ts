import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { silent } from '../../src/base/log.ts';
import { StoreError } from '../../src/core/store-error.ts';
import { createPostgresStore } from '../../src/store/postgres/postgres.ts';
import { type Certificate, makeAuthority } from '../support/certificates.ts';
import { type PostgresOptions, type PostgresServer, startPostgres } from '../support/postgres.ts';

const authority = makeAuthority();
const other = makeAuthority();
const tlsOf = ({ cert, key }: Certificate, more: Partial<PostgresOptions> = {}): PostgresOptions => ({
  ...more,
  files: { 'server.crt': cert, 'server.key': key, ...more.files },
  settings: { ssl: 'on', ...more.settings },
});
const names = Array.from({ length: 20 }, (_, n) => `test_${n + 1}`).join(',');
const server = await startPostgres(
  tlsOf(authority.issue('IP:127.0.0.1,DNS:localhost'), {
    hba: [`hostnossl ${names} all 127.0.0.1/32 reject`],
  }),
);
afterAll(() => {
  authority.remove();
  other.remove();
});

if ('reason' in server) test.skip(`TLS to Postgres (skipped: ${server.reason})`, () => {});
else
  describe('TLS to Postgres', () => {
    afterAll(() => server.stop());
    tlsTests(server);
  });

interface Outcome {
  /** Code, message and hint of a failed start. */
  fault: Pick<StoreError, 'code' | 'message' | 'hint'> | undefined;
  warnings: unknown[];
}

async function starting(url: string): Promise<Outcome> {
  const warnings: unknown[] = [];
  const printed: Error[] = [];
  const note = (warning: Error) => void printed.push(warning);
  process.on('warning', note);
  const log = { ...silent, warn: (_: unknown, line?: string) => void warnings.push(line) };
  const store = createPostgresStore({ url, log });
  try {
    await store.start();
    return { fault: undefined, warnings };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return {
      fault: { code: error.code, message: error.message, hint: error.hint },
      warnings,
    };
  } finally {
    await store.stop();
    // Node delivers its warnings in a later turn.
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', note);
    expect(printed).toEqual([]);
  }
}

function tlsTests(postgres: PostgresServer): void {
  const serve = async (options: PostgresOptions) => {
    const started = await startPostgres(options);
    if ('reason' in started) throw new Error(started.reason);
    onTestFinished(() => started.stop());
    return started.createDatabase();
  };
  const database = () => postgres.createDatabase();

  test.each([
    ['sslmode=verify-full', []],
    ['sslmode=verify-ca', []],
    ['sslmode=require', []],
    ['sslmode=verify-full&channel_binding=require', []],
  ])('works with a private authority: %s', async (query, warnings) => {
    const found = await starting(`${await database()}?${query}&sslrootcert=${authority.file}`);
    expect(found).toMatchObject({ fault: undefined, warnings });
  });

  test('without a check of the certificate warns', async () => {
    const found = await starting(`${await database()}?sslmode=require`);
    expect(found.fault).toBeUndefined();
    expect(found.warnings).toEqual([
      expect.stringContaining('The certificate of the database is not checked'),
    ]);
  });

  test('presents a certificate of the client', async () => {
    const ca = { settings: { ssl_ca_file: 'ca.crt' } };
    const { cert, key } = authority.issue('DNS:client');
    const [certFile, keyFile] = [
      join(dirname(authority.file), 'client.pem'),
      join(dirname(authority.file), 'client.key'),
    ];
    writeFileSync(certFile, cert);
    writeFileSync(keyFile, key);
    const url = await serve(
      tlsOf(authority.issue('IP:127.0.0.1'), {
        ...ca,
        files: { 'ca.crt': readFileSync(authority.file, 'utf8') },
        hba: [
          'hostssl test_1 all 127.0.0.1/32 trust clientcert=verify-ca',
          'hostnossl test_1 all 127.0.0.1/32 reject',
        ],
      }),
    );
    const query = `sslmode=verify-full&sslrootcert=${authority.file}`;
    expect((await starting(`${url}?${query}&sslcert=${certFile}&sslkey=${keyFile}`)).fault).toBeUndefined();
    expect((await starting(`${url}?${query}`)).fault).toMatchObject({
      code: 'refused',
      hint: 'Add sslcert and sslkey to the database URL.',
    });
  });

  const full = `sslmode=verify-full&sslrootcert=${authority.file}`;

  test.each([
    [
      'an unknown authority',
      () => database(),
      'sslmode=verify-full',
      /is not signed by a known authority \(\w+\)\.$/,
      /sslrootcert/,
    ],
    [
      'another authority',
      () => database(),
      `sslmode=verify-ca&sslrootcert=${other.file}`,
      /is not signed by a known authority/,
      /sslrootcert/,
    ],
    [
      'another host',
      () => serve(tlsOf(authority.issue('DNS:db.internal'))),
      full,
      /is for other hosts: db\.internal\.$/,
      /Write one of these hosts/,
    ],
    [
      'an expired certificate',
      () => serve(tlsOf(authority.issue('IP:127.0.0.1', -1))),
      full,
      /has expired\.$/,
      /Renew it/,
    ],
    ['a server without TLS', () => serve({}), full, /does not offer TLS\.$/, /Turn on ssl in Postgres/],
    [
      'a server that asks for TLS',
      database,
      'sslmode=disable',
      /refuses connections without TLS\.$/,
      /Add sslmode=verify-full/,
    ],
    [
      'a missing file',
      () => database(),
      'sslmode=verify-full&sslrootcert=/no/such.pem',
      /^The file \/no\/such\.pem of sslrootcert .* cannot be read \(ENOENT\)\.$/,
      /Correct the path/,
    ],
    [
      'a file that is no certificate',
      () => database(),
      `sslmode=verify-full&sslrootcert=${import.meta.filename}`,
      /known authority|certificate files/,
      /sslrootcert/,
    ],
  ])('names %s', async (_, url, query, message, hint) => {
    const { fault } = await starting(`${await url()}?${query}`);
    expect(fault).toMatchObject({
      code: 'refused',
      message: expect.stringMatching(message),
      hint: expect.stringMatching(hint),
    });
  });
}

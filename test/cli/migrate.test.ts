import { Client } from 'pg';
import { afterAll, expect, it } from 'vitest';
import { migrations } from '../../src/store/migrations/migrate.ts';
import { startPostgres } from '../support/postgres.ts';
import { runCli } from './support/run-cli.ts';

const migrate = (argv: string[]) => runCli(['migrate', ...argv], { env: { OFFPEAK_API_KEY: '' } });
const { version } = migrations.at(-1)!;
const started = await startPostgres();
const postgres = 'reason' in started ? undefined : started;
afterAll(() => postgres?.stop());

it('has nothing to do for an embedded database', async () => {
  const { code, err } = await migrate([]);
  expect(code).not.toBe(0);
  expect(err).toContain('a server migrates its embedded database when it starts');
});

it.skipIf(!postgres)('migrates an empty Postgres once, also if two run together', async () => {
  const url = await postgres!.createDatabase();
  const runs = await Promise.all([1, 2].map(() => migrate(['--database', url, '--json'])));
  for (const { code, out } of runs)
    expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ version })]);
  const again = await migrate(['--database', url]);
  expect([again.code, again.out]).toEqual([
    0,
    expect.stringContaining(`The tables are migrated up to version ${version} (`),
  ]);
  const client = new Client(url);
  await client.connect();
  const { rows } = await client.query('SELECT count(*)::int AS count FROM schema_version');
  await client.end();
  expect(rows).toEqual([{ count: version }]);
});

it.skipIf(!postgres)('says what is wrong with the database', async () => {
  const url = (await postgres!.createDatabase()).replace(/\/[^/]*$/, '/absent');
  const { code, err } = await migrate(['--database', url]);
  expect(code).not.toBe(0);
  expect(err).toContain('absent');
});

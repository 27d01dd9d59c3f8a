import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chatLines, endings, parseLines } from '../support/batch-lines.ts';
import { type CountingUpstream, startCountingUpstream } from '../support/counting-upstream.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { type Installation, install, type ServerProcess, upstreamYaml } from '../support/server-process.ts';
import { until } from '../support/until.ts';

// The last released version beside this one, on one Postgres and one data folder. The commit that wrote the heading of that
// version into CHANGELOG.md is installed into a folder of its own; its own files start it.

const checkout = fileURLToPath(new URL('../../', import.meta.url));
const git = (...args: string[]) =>
  execFileSync('git', ['-C', checkout, ...args], { encoding: 'utf8' }).trim();

function lastVersion(): { version: string; commit: string } {
  const changelog = readFileSync(join(checkout, 'CHANGELOG.md'), 'utf8');
  const [heading, version] = /^## \[(\d\S*)\]/m.exec(changelog)!;
  const commit = git('log', '--reverse', '--format=%H', `-S${heading}`, '--', 'CHANGELOG.md').split('\n')[0]!;
  return { version: version!, commit };
}

const lines = 3_000;
const slots = 16;

describe('the last version and this one on one database', () => {
  const { version, commit } = lastVersion();
  let folder: string;
  let postgres: PostgresServer;
  let upstream: CountingUpstream;
  let old: Installation;
  let current: Installation;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'offpeak-version-'));
    const root = join(folder, version);
    mkdirSync(root);
    const archive = execFileSync('git', ['-C', checkout, 'archive', commit], { maxBuffer: 2 ** 30 });
    execFileSync('tar', ['-x', '-C', root], { input: archive });
    execFileSync(process.execPath, ['tools/install.mjs'], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const started = await startPostgres();
    if ('reason' in started) throw new Error(started.reason);
    postgres = started;
    upstream = await startCountingUpstream({ delayMs: 20 });
    const yaml = upstreamYaml(upstream.url, {
      slots,
      engine: ', headers: { x-server: "${WHO}" }',
      more: `database: ${await postgres.createDatabase()}\n`,
    });
    current = install(yaml);
    old = install(yaml, pathToFileURL(`${root}/`));
  });

  afterAll(async () => {
    await Promise.all([old, current].map((each) => each?.remove()));
    await upstream?.close();
    await postgres?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  // Both versions on the data folder of the old one.
  const startOld = () => old.start({ env: { WHO: 'old' } });
  const startCurrent = () => current.start({ env: { WHO: 'current' }, flags: ['--data', old.data] });
  const batches: string[] = [];

  /** Checks every line of a finished batch, as both servers tell it. */
  async function expectOnce(id: string, ...servers: ServerProcess[]): Promise<void> {
    for (const { api } of servers) {
      const batch = await api.finished(id);
      expect(batch.request_counts).toEqual({ total: lines, completed: lines, failed: 0 });
      const output = (await api.results(id, 'output')).text;
      const { all, distinct } = endings(output, '');
      expect([all.length, distinct.size]).toEqual([lines, lines]);
      const tokens = parseLines(output).map(({ response }) => response!.body.usage.prompt_tokens);
      expect(batch.usage.input_tokens).toBe(tokens.reduce((sum, each) => sum + each));
    }
    batches.push(id);
  }

  const asked = (server: string) => upstream.byServer.get(server) ?? 0;
  const bothAsk = (since: { old: number; current: number }) =>
    until('both versions send lines', () => asked('old') > since.old && asked('current') > since.current);
  const now = () => ({ old: asked('old'), current: asked('current') });

  it('F50: runs batches of either, through an upgrade of the database under one and a way back', async () => {
    // The new version joins while a batch of the old one runs.
    let first = await startOld();
    const file = await first.api.upload(chatLines(lines));
    upstream.holdAfter = lines / 10;
    const begun = await first.api.createBatch(file.id);
    await until('the batch runs', () => asked('old') > lines / 10);
    const second = await startCurrent();
    upstream.release();
    await bothAsk(now());
    await expectOnce(begun.id, first, second);

    // A whole batch with both, created by the new one from a file of the old one, and the other way round.
    const since = now();
    const crossed = await second.api.createBatch(file.id);
    const newFile = await second.api.upload(chatLines(lines));
    const back = await first.api.createBatch(newFile.id);
    await bothAsk(since);
    await Promise.all([crossed.id, back.id].map((id) => expectOnce(id, first, second)));

    // The old version restarts on the new schema, if it knows which later ones support it.
    upstream.holdAfter = upstream.total() + lines / 10;
    const running = await second.api.createBatch(file.id);
    await until('the batch runs', () => upstream.total() > upstream.holdAfter);
    const ended = first.end('SIGTERM');
    const startsAgain = existsSync(join(folder, version, 'src/store/migrations/0024-schema-support.ts'));
    if (startsAgain) {
      await ended;
      first = await startOld();
      upstream.release();
      await bothAsk(now());
      await expectOnce(running.id, first, second);
    } else {
      const { code, stderr } = await old.runToExit({ env: { WHO: 'old' } });
      upstream.release();
      expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining('schema version')]);
      expect(code).not.toBe(0);
      await expectOnce(running.id, second);
    }
    expect((await ended).code).toBe(0);
    expect((await second.end('SIGTERM')).code).toBe(0);

    // The usage that both have billed is the sum of the lines.
    const third = await startCurrent();
    const usage = await third.api.get<{ data: { requests: number }[] }>('/v1/usage');
    const billed = usage.data.reduce((sum, row) => sum + row.requests, 0);
    expect(billed).toBe(batches.length * lines);
  });
});

import { writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AuditEntry } from '../../src/core/audit.ts';
import { type RunningApp, startApp } from '../support/app.ts';
import { runCli } from './support/run-cli.ts';

// Administration by commands, with a real server.

let running: RunningApp;
beforeEach(async () => void (running = await startApp()));
afterEach(() => running.stop());

const env = (more: Record<string, string> = {}) => ({
  OFFPEAK_URL: running.url,
  OFFPEAK_ADMIN_KEY: running.app.firstKeys!.adminKey!,
  ...more,
});
const cli = (...argv: string[]) => runCli(argv, { fetch, cwd: running.data, env: env() });
/** Error and hint of a command. */
const refusal = async (argv: string[], more: Record<string, string> = {}) =>
  (await runCli(argv, { fetch, cwd: running.data, env: env(more) })).err
    .replace(/, request req_\w+/, '')
    .trimEnd()
    .split('\n');
const json = async (...argv: string[]) => JSON.parse((await cli(...argv, '--json')).out);
const statusOf = async (key: string) =>
  (await fetch(`${running.url}/v1/files`, { headers: { authorization: `Bearer ${key}` } })).status;

it('sets and lifts limits of an org, which it finds by name, and disables it', async () => {
  const limits = ['--limit', 'requests_per_minute=100', '--limit', 'queued_tokens.default=5'];
  expect((await json('orgs', 'create', 'search', ...limits, '--weight', '2')).limits).toEqual({
    requests_per_minute: 100,
    queued_tokens: { tiny: 5 },
  });
  const changed = await cli('orgs', 'update', 'search', '--limit', 'requests_per_minute=none');
  expect(changed.out).toMatch(/^limits +queued_tokens\.tiny=5$/m);
  expect((await cli('orgs', 'update', 'search', '--limit', 'queued_tokens=none')).out).toMatch(
    /^limits +none$/m,
  );
  const { key } = await json('keys', 'create', '--org', 'search');
  await cli('orgs', 'disable', 'search');
  expect(await statusOf(key)).toBe(403);
  expect((await cli('orgs', 'list')).out).toMatch(/^org_\w+\tsearch\tdisabled\t2\t/m);
  await cli('orgs', 'enable', 'search');
  expect(await statusOf(key)).toBe(200);
});

it('changes, rotates, disables and enables keys', async () => {
  const made = await json('keys', 'create', '--org', 'default', '--models', 'tiny', '--priority', '3');
  const opened = await json('keys', 'update', made.id, '--models', 'all', '--limit', 'open_batches=2');
  expect(opened).toMatchObject({
    models: null,
    priority: 3,
    service_tier: null,
    limits: { open_batches: 2 },
  });
  expect((await cli('keys', 'update', made.id, '--service-tier', 'flex')).out).toMatch(
    /^service tier +flex$/m,
  );
  expect((await json('keys', 'update', made.id, '--service-tier', 'none')).service_tier).toBeNull();
  expect((await json('keys', 'update', made.id, '--expires', '2100-01-01T00:00:00Z')).expires_at).toBe(
    '2100-01-01T00:00:00Z',
  );
  expect((await json('keys', 'update', made.id, '--expires', 'never')).expires_at).toBeNull();
  expect((await cli('keys', 'disable', made.id)).out).toMatch(/^ends +disabled$/m);
  expect(await statusOf(made.key)).toBe(401);
  await cli('keys', 'enable', made.id);
  expect(await statusOf(made.key)).toBe(200);
  const rotated = await cli('keys', 'rotate', made.id, '--overlap', '60');
  expect(rotated.err).toMatch(
    new RegExp(
      `^Save the key now: it cannot be shown again.\nThe old key ${made.id} works until 20\\S+Z.\n$`,
    ),
  );
  const next = /^key +(\S+)$/m.exec(rotated.out)![1]!;
  expect([await statusOf(next), await statusOf(made.key)]).toEqual([200, 200]);
  const shown = (await cli('keys', 'get', made.id)).out;
  expect(shown).toMatch(/^ends +20/m);
  expect(shown).toContain(`replaced by  ${/^id +(\S+)$/m.exec(rotated.out)![1]}`);
  const again = await cli('keys', 'rotate', made.id);
  expect([again.code, again.err]).toEqual([1, expect.stringContaining('was replaced by')]);
});

it('lists whole or in part, with names of orgs and what keys have spent', async () => {
  for (const name of ['search', 'billing']) await cli('orgs', 'create', name);
  await cli('keys', 'create', '--org', 'search', '--name', 'ci', '--budget', '5/month');
  const listed = await cli('keys', 'list', '--org', 'search');
  expect(listed.out).toMatch(/^key_\w+\tsearch\t.*\tci\t.*\t0 of 5\/month$/m);
  expect((await cli('orgs', 'list')).out.trimEnd().split('\n')).toHaveLength(3);
  expect((await cli('orgs', 'list', '-n', '2')).out.trimEnd().split('\n')).toHaveLength(2);
  expect((await cli('keys', 'list', '-n', '1')).out.trimEnd().split('\n')).toHaveLength(1);
});

it('shows how much of each limit is used, of the own key and of any org and key', async () => {
  await cli('orgs', 'create', 'search', '--limit', 'requests_per_minute=100');
  const { id, key } = await json('keys', 'create', '--org', 'search', '--limit', 'open_batches=2');
  const own = await runCli(['limits'], { fetch, cwd: running.data, env: env({ OFFPEAK_API_KEY: key }) });
  const line = /^open_batches\tkey\t0 of 2\t2\t\t$/m;
  expect(own.out).toMatch(line);
  expect(own.err).toMatch(/^Org search \(org_\w+\), key key_\w+\.$/m);
  expect((await cli('limits', '--key-id', id)).out).toMatch(line);
  const ofOrg = await cli('limits', '--org', 'search');
  expect(ofOrg.out).toMatch(/^requests_per_minute\torg\t0 of 100\t100\t\t$/m);
  expect(ofOrg.out).not.toMatch(line);
  expect(await json('limits', '--org', 'search')).toMatchObject({ org: 'search', key_id: null });
  expect(await refusal(['limits', '--org', 'search'], { OFFPEAK_ADMIN_KEY: key })).toEqual([
    expect.stringMatching(/permission_denied/),
    expect.any(String),
  ]);
});

it('shows the usage of all orgs with the admin key alone, and names the scope', async () => {
  const note = async (argv: string[], more: Record<string, string> = {}) =>
    /^(.*), from /.exec((await refusal(argv, more))[0]!)?.[1];
  const mine = { OFFPEAK_API_KEY: running.key };
  const none = { OFFPEAK_API_KEY: '' };
  expect(await note(['usage'], none)).toBe('All orgs');
  expect(await note(['usage'], mine)).toMatch(/^Org default \(org_\w+\)$/);
  expect(await note(['usage', '--all'], mine)).toBe('All orgs');
  await cli('orgs', 'create', 'search');
  expect(await note(['usage', '--org', 'search'], mine)).toMatch(/^Org search /);
  expect(await refusal(['usage', '--all', '--key', mine.OFFPEAK_API_KEY])).toEqual([
    expect.stringMatching(/^Error: The key sees only the usage of its org, default/),
    'Set OFFPEAK_ADMIN_KEY, or pass --key-file.',
  ]);
});

it('takes a day as the end of a key', async () => {
  const made = await json('keys', 'create', '--org', 'default', '--expires', '2100-12-31');
  expect(made.expires_at).toBe('2101-01-01T00:00:00Z');
  const wrong = ['keys', 'create', '--org', 'default', '--expires', '2100-02-30'];
  expect(await refusal(wrong)).toEqual(['Error: --expires 2100-02-30: there is no such day.']);
});

describe('errors', () => {
  const api = () => running.key;

  it.each([
    [['keys', 'create', '--org', 'nope'], '--org: there is no org with this id or name (validation_error)'],
    [
      ['keys', 'create', '--org', 'default', '--models', 'nope'],
      '--models: unknown model "nope" (validation_error)',
    ],
    [
      ['orgs', 'create', 'x', '--limit', 'queued_tokens.nope=5'],
      '--limit queued_tokens.nope: unknown model "nope" (validation_error)',
    ],
    [
      ['orgs', 'create', 'x', '--limit', 'open_batches=5', '--limit', 'open_batches=6'],
      '--limit sets open_batches twice.',
    ],
    [
      ['orgs', 'create', 'x', '--limit', 'queued_tokens.default=5', '--limit', 'queued_tokens.default=6'],
      '--limit sets queued_tokens.default twice.',
    ],
    [['orgs', 'get', '..'], "'..' is not an id or a name. (not_found)"],
    [['usage', '--org', 'nope'], '--org: there is no org with this id or name (validation_error)'],
  ])('name the flag of %j', async (argv, message) => {
    expect(await refusal(argv)).toEqual([`Error: ${message}`]);
  });

  it('name the key that the command uses', async () => {
    const first = 'A server prints its first admin key at its first start.';
    expect((await refusal(['orgs', 'list'], { OFFPEAK_ADMIN_KEY: 'wrong' }))[1]).toBe(
      `Set OFFPEAK_ADMIN_KEY, or pass --key-file. ${first}`,
    );
    expect((await refusal(['orgs', 'list'], { OFFPEAK_ADMIN_KEY: api() }))[1]).toBe(
      'Set OFFPEAK_ADMIN_KEY to an admin key, or pass one with --key-file.',
    );
    const { key } = await json('keys', 'create', '--org', 'default', '--scopes', 'usage', 'batches');
    expect((await refusal(['files', 'list'], { OFFPEAK_API_KEY: key }))[1]).toBe(
      'Use a key with this scope: offpeak keys create --org <org> --scopes files:read',
    );
  });

  it('do not advise another scope above the priority of a key', async () => {
    const { key } = await json('keys', 'create', '--org', 'default', '--priority', '3');
    const body = { custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body: {} };
    const request = { ...body, body: { model: 'tiny', messages: [{ role: 'user', content: 'hi' }] } };
    writeFileSync(join(running.data, 'in.jsonl'), `${JSON.stringify(request)}\n`);
    expect(
      await refusal(['batch', 'create', 'in.jsonl', '--priority', '9'], { OFFPEAK_API_KEY: key }),
    ).toEqual([
      'Error: This key may create batches with a priority of at most 3, not 9. (permission_denied)',
    ]);
  });
});

describe('the audit log', () => {
  /** Changes the database beside the running server. */
  function tamper(sql: string): void {
    const database = new DatabaseSync(join(running.data, 'offpeak.db'), { timeout: 5_000 });
    database.exec(sql);
    database.close();
  }

  beforeEach(async () => {
    for (const name of ['a', 'b', 'c']) await cli('orgs', 'create', name);
    await cli('orgs', 'update', 'a', '--name', 'd');
  });

  it('lists, exports and verifies', async () => {
    const [row] = (await cli('audit', 'list', '-n', '1')).out.split('\n');
    expect(row!.split('\t').slice(2)).toEqual([
      'first admin key',
      'org.update',
      expect.stringMatching(/^org_/),
      '{"name":"a"}',
      '{"name":"d"}',
      '127.0.0.1',
      expect.stringMatching(/^key_/),
    ]);
    const readable = await runCli(['audit', 'list', '-n', '1'], { fetch, env: env(), tty: true });
    expect(readable.out.split('\n').slice(1)).toEqual([
      expect.stringMatching(/^ {2}by first admin key \(key_\w+\) from 127\.0\.0\.1$/),
      '  name: a -> d',
      '',
    ]);
    expect(await json('audit', 'list', '--action', 'org.update')).toHaveLength(1);
    const exported = (await cli('audit', 'export')).out;
    const entries = exported
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as AuditEntry);
    // The first org, its two keys, and the changes above.
    expect(entries.map(({ action }) => action)).toEqual([
      'org.create',
      'key.create',
      'key.create',
      'org.create',
      'org.create',
      'org.create',
      'org.update',
    ]);
    const head = entries.at(-1)!;
    const verified = await cli('audit', 'verify');
    expect(verified).toMatchObject({ code: 0, out: `Valid: 7 entries.\nHead: ${head.id} ${head.hash}\n` });
    expect((await cli('audit', 'verify', '--head', entries[3]!.hash)).code).toBe(0);
    writeFileSync(join(running.data, 'audit.jsonl'), exported);
    expect(await cli('audit', 'verify', 'audit.jsonl')).toMatchObject({ code: 0, out: verified.out });
    writeFileSync(join(running.data, 'cut.jsonl'), exported.split('\n').slice(0, -2).join('\n'));
    expect((await cli('audit', 'verify', 'cut.jsonl')).code).toBe(0);
    expect((await cli('audit', 'verify', 'cut.jsonl', '--head', head.hash)).code).toBe(1);
  });

  it.each([
    ['removed', 'DELETE FROM audit_log WHERE sequence = 4', 'audit_000000000004 is missing'],
    ['removed at the end', 'DELETE FROM audit_log WHERE sequence > 5', 'audit_000000000006 is missing'],
    [
      'changed',
      "UPDATE audit_log SET actor_name = 'nobody' WHERE sequence = 3",
      'audit_000000000003 was changed: its hash does not match it',
    ],
    [
      'removed with the numbers closed up',
      'DELETE FROM audit_log WHERE sequence = 4; UPDATE audit_log SET sequence = sequence - 1 WHERE sequence > 4',
      'audit_000000000004 was changed: its hash does not match it',
    ],
  ])('C23: names an entry that was %s, in the exit code too', async (_name, sql, message) => {
    tamper(sql);
    const verdict = await cli('audit', 'verify');
    expect([verdict.code, verdict.out]).toEqual([1, `Invalid: ${message}.\n`]);
    expect(await json('audit', 'verify')).toMatchObject({
      valid: false,
      fault: { id: message.split(' ')[0] },
    });
  });

  it('C23: after a rewrite of the whole log, only a hash kept elsewhere shows it', async () => {
    const before = /^Head: \S+ (\S+)$/m.exec((await cli('audit', 'verify')).out)![1]!;
    tamper('DELETE FROM audit_log; DELETE FROM audit_head');
    await cli('orgs', 'create', 'new');
    expect((await cli('audit', 'verify')).code).toBe(0);
    expect((await cli('audit', 'verify', '--head', before)).code).toBe(1);
  });
});

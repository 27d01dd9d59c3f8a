import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { accessKey, type ObjectStore, secretKey, startObjectStore } from '../support/object-store.ts';
import { createFakeServer, failed, type FakeServer, succeeded } from './support/fake-server.ts';
import { type CliRun, duringWait, runCli } from './support/run-cli.ts';

let cwd: string;
let server: FakeServer;
let store: ObjectStore;
let env: Record<string, string>;

beforeAll(async () => {
  store = await startObjectStore();
});
afterAll(() => store.close());

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'offpeak-objects-'));
  server = createFakeServer();
  store.objects.clear();
  store.uploads.clear();
  store.requests.length = 0;
  store.fault = () => undefined;
  env = {
    XDG_STATE_HOME: join(cwd, 'state'),
    AWS_ACCESS_KEY_ID: accessKey,
    AWS_SECRET_ACCESS_KEY: secretKey,
    AWS_REGION: store.config.region,
    AWS_ENDPOINT_URL: store.config.endpoint,
  };
});

afterEach(() => rmSync(cwd, { recursive: true, force: true }));

const put = (key: string, text: string | Buffer) =>
  store.objects.set(key, { body: Buffer.from(text), modifiedAt: 0 });
const textOf = (key: string) => store.objects.get(key)?.body.toString();
const keys = () => [...store.objects.keys()].toSorted();
const cli = (argv: string[], more: CliRun = {}) => runCli(argv, { server, cwd, env, ...more });
const run = (input: string, output: string, ...more: string[]) =>
  cli(['batch', 'run', input, '-o', output, ...more]);
/** Files of runs that can be resumed. */
const left = () =>
  readdirSync(join(cwd, 'state', 'offpeak', 'runs'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .toSorted();

const request = (id: string) =>
  `${JSON.stringify({ custom_id: id, method: 'POST', url: '/v1/chat/completions', body: { model: 'm', messages: [{ role: 'user', content: 'hi' }] } })}\n`;
const idsOf = (key: string) =>
  textOf(key)!
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { custom_id: string }).custom_id);

/** Fails the first `times` requests that match. */
function failing(fits: RegExp, fault: ReturnType<ObjectStore['fault']>, times = Infinity): void {
  let remaining = times;
  store.fault = (asked) => (fits.test(asked) && remaining-- > 0 ? fault : undefined);
}

describe('batch run with objects', () => {
  it('reads and writes requests, and leaves nothing on this machine', async () => {
    put('a/in.jsonl', request('one') + request('two'));
    const { code, out } = await run('s3://files/a/in.jsonl', 's3://files/b/out.jsonl');
    expect([code, out]).toEqual([0, expect.stringContaining('results  s3://files/b/out.jsonl')]);
    expect(idsOf('b/out.jsonl')).toEqual(['one', 'two']);
    expect([keys(), store.uploads.size, left()]).toEqual([['a/in.jsonl', 'b/out.jsonl'], 0, []]);
  });

  it('writes failed requests to an object of their own, and removes that of an earlier run', async () => {
    put('in.jsonl', request('one') + request('two'));
    server.behavior.answer = (id) => (id === 'one' ? failed(id) : succeeded(id));
    expect((await run('s3://files/in.jsonl', 's3://files/out.jsonl')).code).toBe(2);
    expect([idsOf('out.jsonl'), idsOf('out.errors.jsonl')]).toEqual([['two'], ['one']]);
    server.behavior.answer = succeeded;
    put('in.jsonl', request('three'));
    await run('s3://files/in.jsonl', 's3://files/out.jsonl', '--force');
    expect([keys(), idsOf('out.jsonl')]).toEqual([['in.jsonl', 'out.jsonl'], ['three']]);
  });

  it('writes beside the input by default', async () => {
    put('a/r.csv', 'review\ngood\n');
    await cli(['batch', 'run', 's3://files/a/r.csv', '--prompt', '{{ review }}', '--model', 'm']);
    expect(textOf('a/r.output.csv')).toContain('good,answer to row-1');
  });

  it('reads and writes tables, also of Parquet, and rows that are left out', async () => {
    put('r.parquet', readFileSync(new URL('tables/arrow-snappy.parquet', import.meta.url)));
    const ask = ['--prompt', '{{ s }}', '--model', 'm', '--skip-bad'];
    const { code } = await run('s3://files/r.parquet', 's3://files/out.parquet', ...ask);
    expect([code, left()]).toEqual([0, []]);
    expect(keys()).toEqual(['out.parquet', 'out.skipped.jsonl', 'r.parquet']);
    expect(store.objects.get('out.parquet')!.body.subarray(0, 4).toString()).toBe('PAR1');
    put('out', store.objects.get('out.parquet')!.body);
    await run('s3://files/out', 'copy.csv', '--prompt', '{{ answer }}', '--model', 'm');
    expect(readFileSync(join(cwd, 'copy.csv'), 'utf8')).toContain('answer to row-1');
  });

  it('reads and writes keys with any characters', async () => {
    put('a b/ü+%25 (1).jsonl', request('one'));
    expect((await run('s3://files/a b/ü+%25 (1).jsonl', "s3://files/o'&?=#.jsonl")).code).toBe(0);
    expect(idsOf("o'&?=#.jsonl")).toEqual(['one']);
  });

  it('goes on after broken connections, in parts of 8 MiB', async () => {
    const body = 'x'.repeat(1_000_000);
    const line = (row: number) => `${JSON.stringify({ id: row, body })}\n`;
    put('in.jsonl', Array.from({ length: 20 }, (_, row) => line(row)).join(''));
    let requests = 0;
    store.fault = () => (requests++ % 2 === 0 ? 'reset' : undefined);
    const ask = ['--prompt', '{{ id }}', '--model', 'm'];
    const { code } = await run('s3://files/in.jsonl', 's3://files/out.jsonl', ...ask);
    expect([code, store.uploads.size]).toEqual([0, 0]);
    const lines = textOf('out.jsonl')!.trimEnd().split('\n');
    expect(lines).toHaveLength(20);
    expect(JSON.parse(lines[19]!)).toMatchObject({ id: 19, body, answer: 'answer to line-20' });
  });

  it('asks for tokens and cost only, without a write, with --dry-run', async () => {
    put('in.jsonl', request('one'));
    await cli(['batch', 'run', 's3://files/in.jsonl', '--dry-run']);
    expect(store.requests.every((each) => each.startsWith('GET'))).toBe(true);
  });
});

describe('an interrupted batch run with objects', () => {
  beforeEach(() => put('in.jsonl', request('one')));

  it('stores no object, and resumes its batch', async () => {
    const argv = ['batch', 'run', 's3://files/in.jsonl', '-o', 's3://files/out.jsonl'];
    expect((await cli(argv, { interrupt: duringWait + 1 })).code).toBe(130);
    expect(keys()).toEqual(['in.jsonl']);
    expect(left()).toContain('in.jsonl');
    store.requests.length = 0;
    expect((await cli(argv)).code).toBe(0);
    expect([server.batches.size, idsOf('out.jsonl'), left()]).toEqual([1, ['one'], []]);
    // The copy is complete: only its version is compared, after a refusal because of the clock of the test.
    expect(store.requests.filter((each) => each.startsWith('GET in'))).toHaveLength(2);
  });

  it('keeps the results where they cannot be stored, and stores them later', async () => {
    let puts = 0;
    store.fault = (asked) =>
      asked.startsWith('PUT') && puts++ < 3 ? { status: 403, code: 'AccessDenied' } : undefined;
    const first = await run('s3://files/in.jsonl', 's3://files/out.jsonl');
    expect([first.code, first.err]).toEqual([1, expect.stringContaining('lacks permissions')]);
    expect(keys()).toEqual(['in.jsonl']);
    store.fault = () => undefined;
    expect((await run('s3://files/in.jsonl', 's3://files/out.jsonl')).code).toBe(0);
    expect([server.batches.size, idsOf('out.jsonl'), left()]).toEqual([1, ['one'], []]);
  });

  it('removes the parts that an upload has left in the bucket', async () => {
    server.behavior.answer = (id) => ({
      ...succeeded(id),
      response: { status_code: 200, body: { choices: [{ message: { content: 'x'.repeat(9_000_000) } }] } },
    });
    // As if the process were killed: the parts stay.
    store.fault = (asked) =>
      /^PUT out|^DELETE out/.test(asked) && server.batches.size > 0
        ? { status: 403, code: 'AccessDenied' }
        : undefined;
    expect((await run('s3://files/in.jsonl', 's3://files/out.jsonl')).code).toBe(1);
    expect(store.uploads.size).toBe(1);
    store.fault = () => undefined;
    expect((await run('s3://files/in.jsonl', 's3://files/out.jsonl')).code).toBe(0);
    expect([store.uploads.size, keys(), left()]).toEqual([0, ['in.jsonl', 'out.jsonl'], []]);
  });
});

describe('an object that cannot be used', () => {
  beforeEach(() => put('in.jsonl', request('one')));

  it.each<[string, () => void, string]>([
    ['missing', () => store.objects.clear(), 'There is no object s3://files/in.jsonl.'],
    ['without credentials', () => delete env['AWS_ACCESS_KEY_ID'], 'no credentials for s3://files'],
    [
      'with an unknown key',
      () => (env['AWS_ACCESS_KEY_ID'] = 'AKIAX'),
      'rejected the key AKIAX (InvalidAccess',
    ],
    [
      'with a wrong secret',
      () => (env['AWS_SECRET_ACCESS_KEY'] = 'x'),
      'the secret of the key AKIATEST is wrong',
    ],
    ['with an old token', () => (env['AWS_SESSION_TOKEN'] = 'x'), 'rejected the key AKIATEST (InvalidToken)'],
    ['in another region', () => (env['AWS_REGION'] = 'us-east-1'), 'is not in the region us-east-1'],
    ['without permission', () => failing(/./, { status: 403, code: 'AccessDenied' }), 's3:GetObject'],
    ['where no store answers', () => failing(/./, 'reset'), 'The object store cannot be reached'],
    ['with a wrong endpoint', () => (env['AWS_ENDPOINT_URL'] = 'localhost'), 'Correct AWS_ENDPOINT_URL'],
  ])('%s has a sentence of its own', async (_, breakIt, message) => {
    breakIt();
    const { code, err } = await run('s3://files/in.jsonl', 'out.jsonl');
    expect([code, err]).toEqual([1, expect.stringContaining(message)]);
    expect([server.files.size, left()]).toEqual([0, []]);
  });

  it.each([
    ['s3://none/in.jsonl', 's3://files/out.jsonl', 'There is no bucket none'],
    ['s3://files/in.jsonl', 's3://none/out.jsonl', 'There is no bucket none'],
    ['s3://files/', 's3://files/out.jsonl', "'s3://files/' does not name an object"],
    ['s3://files/in.jsonl', 's3://files', "'s3://files' does not name an object"],
    ['s3://files/in.jsonl', 's3://files/in.jsonl', 'would overwrite the input'],
    ['s3://files/in.jsonl', 's3://files/taken.jsonl', 's3://files/taken.jsonl already exists.'],
  ])('as in %s and %s is rejected before anything is sent', async (input, output, message) => {
    put('taken.jsonl', 'x');
    const { code, err } = await run(input, output);
    expect([code, err]).toEqual([1, expect.stringContaining(message)]);
    expect([server.files.size, store.uploads.size, textOf('taken.jsonl')]).toEqual([0, 0, 'x']);
  });

  it('is rejected if it changes while it is read', async () => {
    put('in.jsonl', 'x'.repeat(20_000_000));
    let reads = 0;
    store.fault = (asked) => {
      if (asked.startsWith('GET in') && ++reads === 3) put('in.jsonl', 'y'.repeat(20_000_000));
      return undefined;
    };
    const { code, err } = await run('s3://files/in.jsonl', 'out.jsonl');
    expect([code, err]).toEqual([1, expect.stringContaining('changed while it was read')]);
    expect(left()).toEqual([]);
  });
});

describe('credentials of an AWS profile', () => {
  beforeEach(() => {
    put('in.jsonl', request('one'));
    env['HOME'] = cwd;
    delete env['AWS_ACCESS_KEY_ID'];
    mkdirSync(join(cwd, '.aws'));
  });
  const write = (name: string, text: string) => writeFileSync(join(cwd, '.aws', name), text);
  const validate = () => cli(['files', 'validate', 's3://files/in.jsonl']);

  it('are used, with its region and endpoint', async () => {
    delete env['AWS_REGION'];
    delete env['AWS_ENDPOINT_URL'];
    env['AWS_PROFILE'] = 'work';
    const { region, endpoint } = store.config;
    write(
      'credentials',
      `[default]\naws_access_key_id = other\n[work]\naws_access_key_id=${accessKey}\naws_secret_access_key = ${secretKey}\n`,
    );
    write('config', `[profile work]\nregion = ${region}\ns3 =\n  region = x\nendpoint_url = ${endpoint}\n`);
    expect(await validate()).toMatchObject({ code: 0, out: expect.stringContaining('1 request') });
  });

  it('of a login need a command, which the error names', async () => {
    write('config', '[default]\nsso_session = company\n');
    const { err } = await validate();
    expect(err).toContain('The AWS profile default has no access key for s3://files.');
    expect(err).toContain('aws configure export-credentials --profile default --format env');
  });
});

describe('other commands', () => {
  beforeEach(() => put('a/in.jsonl', request('one')));

  it('upload an object, and make a batch of it', async () => {
    await cli(['files', 'upload', 's3://files/a/in.jsonl']);
    await cli(['batch', 'create', 's3://files/a/in.jsonl']);
    expect([...server.files.values()].map(({ text }) => text)).toEqual([request('one'), request('one')]);
    expect(server.batches.size).toBe(1);
  });

  it('write an object, but overwrite none', async () => {
    await cli(['files', 'upload', 's3://files/a/in.jsonl']);
    const [id] = server.files.keys();
    const copy = () => cli(['files', 'content', id!, '-o', 's3://files/copy.jsonl']);
    expect((await copy()).code).toBe(0);
    expect(textOf('copy.jsonl')).toBe(request('one'));
    expect((await copy()).err).toContain('s3://files/copy.jsonl already exists.');
  });
});

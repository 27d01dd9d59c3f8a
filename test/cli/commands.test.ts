import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFakeServer, failed, refusal } from './support/fake-server.ts';
import type { FakeServer } from './support/fake-server.ts';
import { runCli } from './support/run-cli.ts';

let cwd: string;
let server: FakeServer;

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'offpeak-cli-'));
  server = createFakeServer();
  const line = { custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body: {} };
  writeFileSync(join(cwd, 'in.jsonl'), `${JSON.stringify(line)}\n`);
});

afterEach(() => rmSync(cwd, { recursive: true, force: true }));

const cli = (...argv: string[]) => runCli(argv, { server, cwd });

describe('files', () => {
  it('uploads, lists, shows, reads and deletes a file under its name', async () => {
    const uploaded = await cli('files', 'upload', 'in.jsonl', '--json');
    expect(JSON.parse(uploaded.out)).toMatchObject({ id: 'file-1', filename: 'in.jsonl', purpose: 'batch' });
    const listed = await cli('files', 'list');
    expect(listed.out).toBe(
      `file-1\tbatch\t${server.files.get('file-1')?.text.length}\t2027-01-15T08:00:00Z\tin.jsonl\n`,
    );
    expect((await cli('files', 'get', 'file-1')).out).toContain('filename  in.jsonl');
    expect((await cli('files', 'content', 'file-1')).out).toBe(readFileSync(join(cwd, 'in.jsonl'), 'utf8'));
    await cli('files', 'content', 'file-1', '-o', 'copy.jsonl');
    expect(readFileSync(join(cwd, 'copy.jsonl'), 'utf8')).toBe(readFileSync(join(cwd, 'in.jsonl'), 'utf8'));
  });

  it.each([
    ['with', true],
    ['without', false],
  ])('resumes a broken download behind its last byte, %s support of ranges', async (_, hasRanges) => {
    const text = 'abcdefghijklmnopqrstuvwxyz';
    const breaks = [7, 5];
    const asked: (string | null)[] = [];
    server.behavior.before = (_method, path) => {
      if (!path.endsWith('/content')) return undefined;
      const range = server.requests.at(-1)!.headers.get('range');
      asked.push(range);
      const from = hasRanges ? Number(/\d+/.exec(range ?? '0')![0]) : 0;
      const sent = text.slice(from, from + (breaks[0] ?? 99) + (hasRanges ? 0 : asked.length * 3));
      const isBroken = breaks.shift() !== undefined;
      const body = new ReadableStream({
        start(stream) {
          stream.enqueue(new TextEncoder().encode(sent));
        },
        pull(stream) {
          if (isBroken) stream.error(new Error('broken'));
          else stream.close();
        },
      });
      const length = { 'content-length': String(text.length - from) };
      const part = { 'content-range': `bytes ${from}-${text.length - 1}/${text.length}` };
      return new Response(body, {
        status: from > 0 ? 206 : 200,
        headers: { ...length, ...(from > 0 && part) },
      });
    };
    const { code, out } = await cli('files', 'content', 'file-1');
    expect([code, out]).toEqual([0, text]);
    expect(asked).toEqual([
      null,
      hasRanges ? 'bytes=7-' : 'bytes=10-',
      hasRanges ? 'bytes=12-' : 'bytes=11-',
    ]);
  });

  it('escapes control characters in names on the terminal', async () => {
    await cli('files', 'upload', 'in.jsonl');
    const found = server.files.get('file-1');
    if (found) found.file.filename = 'a\u001b[2J\u001b]0;x\u0007\nb\u202Egpj.exe';
    const { out } = await runCli(['files', 'list'], { server, cwd, tty: true });
    expect(out).toContain('a bgpj.exe');
    // eslint-disable-next-line no-control-regex
    expect(out.replaceAll(/\u001b\[\d+m/g, '')).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
  });
});

describe('files validate', () => {
  const line = (fields: object = {}) =>
    JSON.stringify({
      custom_id: 'a',
      method: 'POST',
      url: '/v1/chat/completions',
      body: { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
      ...fields,
    });
  const validate = (text: string, ...more: string[]) => {
    writeFileSync(join(cwd, 'v.jsonl'), text);
    return runCli(['files', 'validate', 'v.jsonl', ...more], { cwd });
  };

  it('warns about misspelt parameters, or rejects them with --strict-fields', async () => {
    const body = { model: 'm', messages: [{ role: 'user', content: 'hi' }], max_token: 5 };
    const text = `${line({ body })}\n${line({ custom_id: 'b', body })}\n`;
    const { code, out } = await validate(text);
    expect(code).toBe(0);
    expect(out).toContain(
      'warning  Unknown field max_token in 2 requests, first in line 1; did you mean max_tokens?',
    );
    const warning = {
      code: 'unknown_field',
      field: 'max_token',
      count: 2,
      suggestion: 'max_tokens',
      line: 1,
    };
    expect(JSON.parse((await validate(text, '--json')).out)).toMatchObject({
      valid: true,
      warnings: [warning],
    });
    const strict = await validate(text, '--strict-fields');
    expect(strict.code).toBe(2);
    expect(strict.out).toContain('line 2 (b), body.max_token: unknown field; did you mean "max_tokens"?');
  });

  it('needs no server', async () => {
    const { code, out } = await validate(`${line()}\n\n${line({ custom_id: 'b' })}`);
    expect(code).toBe(0);
    expect(out).toContain('Valid: 2 requests to /v1/chat/completions');
  });

  it('reports every bad line', async () => {
    const { code, out } = await validate(
      `${line()}\n${line()}\n{"custom_id"\n${line({ custom_id: 'd', url: '/x' })}\n`,
    );
    expect(code).toBe(2);
    expect(out).toContain(
      'line 2 (a), custom_id: lines 1 and 2 have the same custom_id [duplicate_custom_id]',
    );
    expect(out).toMatch(/line 3: invalid JSON.*\[invalid_json_line\]/);
    expect(out).toMatch(/line 4 \(d\), url: .*\[url_mismatch\]/);
  });

  it('accepts requests with files and says that only a server can check them', async () => {
    const content = [{ type: 'file', file: { file_id: 'file-1' } }];
    const text = line({ body: { model: 'm', messages: [{ role: 'user', content }] } });
    const { code, out, err } = await validate(text);
    expect([code, out]).toEqual([0, expect.stringContaining('Valid: 1 request to')]);
    expect(err).toContain('files.purposes');
    expect(JSON.parse((await validate(text, '--json')).out)).toMatchObject({
      valid: true,
      names_files: true,
    });
    expect((await validate(line())).err).not.toContain('files.purposes');
  });

  it('accepts images by URL and says that the model must accept them', async () => {
    const content = [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }];
    const text = line({ body: { model: 'm', messages: [{ role: 'user', content }] } });
    const { code, err } = await validate(text);
    expect([code, err]).toEqual([0, expect.stringContaining('image_urls: true')]);
    expect(JSON.parse((await validate(text, '--json')).out)).toMatchObject({ names_image_urls: true });
    expect((await validate(line())).err).not.toContain('image_urls');
  });

  it.each([
    ['', 'empty_file'],
    ['[{}]\n', 'invalid_json_line'],
  ])('rejects an unusable file as a whole', async (text, code) => {
    const { out } = await validate(text, '--json');
    expect(JSON.parse(out)).toMatchObject({ valid: false, fault_count: 1, faults: [{ code }] });
  });

  it('accepts any file size, like batch run, unless limits are given', async () => {
    const text = Array.from({ length: 10_001 }, (_, i) => line({ custom_id: `c${i}` })).join('\n');
    const { code, out, err } = await validate(text);
    expect([code, out]).toEqual([0, expect.stringContaining('Valid: 10001 requests')]);
    expect(err).toContain('batch run splits it');
    const faults = async (...limits: string[]) => {
      const verdict = JSON.parse((await validate(text, '--json', ...limits)).out);
      return verdict.faults.map((fault: { code: string }) => fault.code);
    };
    expect(await faults('--max-requests', '10000')).toEqual(['too_many_tasks']);
    expect(await faults('--max-bytes', '1000')).toEqual(['payload_too_large']);
    expect(await faults('--max-requests', '10001', '--max-bytes', '10000000')).toEqual([]);
  });

  it('counts all bad lines, including invalid JSON', async () => {
    const { out } = await validate(`${line()}\n${line({ custom_id: '', url: '/x' })}\n{`);
    expect(out).toContain('Invalid: 3 faults in 2 lines.');
    expect((await validate('{')).out).toContain('Invalid: 1 fault in 1 line.');
  });

  it('reports a file of request bodies as one error with a remedy', async () => {
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'hi' }] });
    const { code, out } = await validate(`${body}\n${body}\n${body}`);
    expect([code, out]).toEqual([2, expect.stringContaining('Invalid: 1 fault in 3 lines.')]);
    expect(out).toMatch(/line 1: .*request bodies.*--wrap/);
  });
});

describe('batches', () => {
  it('creates a batch from a file, lists and shows it', async () => {
    const created = await cli(
      'batch',
      'create',
      'in.jsonl',
      '-m',
      'team=search',
      '--priority',
      '7',
      '--json',
    );
    const shown = { id: 'batch_1', metadata: { team: 'search' }, priority: 7 };
    expect(JSON.parse(created.out)).toMatchObject(shown);
    expect((await cli('batch', 'list')).out.split('\t').slice(0, 3)).toEqual([
      'batch_1',
      'validating',
      '0/1',
    ]);
    expect((await cli('batch', 'get', 'batch_1')).out).toMatch(/requests +0 completed, 0 failed, of 1/);
  });

  it('creates a batch in a window of the server, and shows it', async () => {
    await cli('batch', 'create', 'in.jsonl', '--window', '1h');
    expect((await cli('batch', 'get', 'batch_1')).out).toMatch(/priority +5\nwindow +1h\n/);
    await cli('batch', 'create', 'in.jsonl');
    expect(server.batches.get('batch_2')!.batch.completion_window).toBe('24h');
  });

  it('shows times in one form, whatever the server sends', async () => {
    await cli('batch', 'create', 'in.jsonl');
    const { batch } = server.batches.get('batch_1')!;
    Object.assign(batch, { created_at: Date.parse('2026-11-21T09:30:00Z') / 1000 });
    expect((await cli('batch', 'list')).out).toContain('\t2026-11-21T09:30:00Z\t');
    const { out } = await cli('batch', 'get', 'batch_1');
    expect(out).toMatch(/created +2026-11-21T09:30:00Z\nexpires +2026-11-22T09:30:00Z\n/);
  });

  it('creates a batch from a file ID', async () => {
    await cli('files', 'upload', 'in.jsonl');
    const created = await cli('batch', 'create', 'file-1', '--endpoint', '/v1/embeddings', '--json');
    expect(JSON.parse(created.out)).toMatchObject({ input_file_id: 'file-1', endpoint: '/v1/embeddings' });
    expect(server.files.size).toBe(1);
  });

  it('watches batches to their end, which decides the exit code', async () => {
    server.behavior.answer = failed;
    await cli('batch', 'create', 'in.jsonl');
    const { code, err } = await cli('batch', 'watch', 'batch_1');
    expect(code).toBe(2);
    expect(err).toContain('completed 1/1');
  });

  it('prints results and errors unchanged', async () => {
    await cli('batch', 'create', 'in.jsonl');
    const results = await cli('batch', 'results', 'batch_1');
    const file = join(cwd, 'deep', 'results.jsonl');
    await cli('batch', 'results', 'batch_1', '-o', file);
    expect(readFileSync(file, 'utf8')).toBe(results.out);
    expect(await cli('batch', 'results', 'batch_1', '-o', file)).toMatchObject({
      code: 1,
      err: expect.stringContaining('already exists'),
    });
    expect((await cli('batch', 'results', 'batch_1', '-o', file, '--force')).code).toBe(0);
    expect(await cli('batch', 'results', 'batch_1', '-o', dirname(file), '--force')).toMatchObject({
      code: 1,
      err: expect.stringContaining('is a folder'),
    });
    expect(JSON.parse(results.out)).toMatchObject({ custom_id: 'a', response: { status_code: 200 } });
    expect(await cli('batch', 'errors', 'batch_1')).toMatchObject({ code: 0, out: '' });
    const [head, row, ...rest] = (await cli('batch', 'results', 'batch_1', '--format', 'csv')).out.split(
      '\r\n',
    );
    expect([head?.split(',')[0], row, rest]).toEqual(['custom_id', 'a,200,answer to a,,,,,', ['']]);
    const wrong = await cli('batch', 'results', 'batch_1', '--format', 'xml');
    expect(wrong).toMatchObject({ code: 1, err: expect.stringContaining('--format must be jsonl or csv') });
  });

  it('follows a batch across a restart of the server, line by line', async () => {
    await cli('batch', 'create', 'in.jsonl');
    const { out } = await cli('batch', 'results', 'batch_1');
    server.behavior.cuts = 2;
    let asked = 0;
    server.behavior.before = (_, path) => {
      if (path.endsWith('/output') && ++asked === 2) throw new TypeError('fetch failed');
      return path.endsWith('/output') && asked === 3 ? refusal(503, 'shutting_down', 'It stops.') : undefined;
    };
    const followed = await cli('batch', 'results', 'batch_1', '--follow');
    expect(followed).toMatchObject({ code: 0, out, err: expect.stringContaining('Waiting for the server') });
    expect([followed.err.split('\n').length, asked]).toEqual([2, 5]);
    server.behavior.before = () => {
      throw new TypeError('fetch failed');
    };
    expect((await cli('batch', 'results', 'batch_1', '--follow')).code).toBe(5);
  });

  it('cancels a batch', async () => {
    await cli('batch', 'create', 'in.jsonl');
    expect((await cli('batch', 'cancel', 'batch_1')).out).toContain('batch_1  cancelled');
  });

  it('lists batches again whenever something changes', async () => {
    await cli('batch', 'create', 'in.jsonl');
    const { batch } = server.batches.get('batch_1')!;
    let lists = 0;
    server.behavior.before = () => {
      if (++lists === 3) {
        batch.waiting = {
          reason: 'queued',
          message: 'Others run.',
          since: '2026-11-21T09:30:00Z',
          until: null,
        };
        batch.progress = { pending: 1, running: 0, rate_per_minute: null, eta: null, batches_ahead: 4 };
        batch.at_risk = true;
      }
      return lists > 4 ? refusal(401, 'invalid_api_key', 'Enough.') : undefined;
    };
    const { out } = await cli('batch', 'list', '--watch');
    const last = out
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t')[7]);
    expect([lists, last]).toEqual([5, ['', 'queued, 4 ahead; at risk']]);
    server.behavior.before = () => undefined;
    expect((await cli('batch', 'get', 'batch_1')).out).toContain('Others run. (queued, 4 ahead)');
  });

  it('goes on with a watched list after the server was away, however long', async () => {
    await cli('batch', 'create', 'in.jsonl');
    let lists = 0;
    server.behavior.before = (_method, path) => {
      if (path !== '/v1/batches' || ++lists === 1) return undefined;
      if (lists > 1_000) return refusal(401, 'invalid_api_key', 'Enough.');
      if (lists % 2 === 0) return refusal(503, 'shutting_down', 'The server stops.');
      throw new TypeError('fetch failed');
    };
    const { code, out, err } = await cli('batch', 'list', '--watch');
    expect([lists, code]).toEqual([1_001, 1]);
    expect(out.trimEnd().split('\n')).toHaveLength(1);
    expect(err.match(/Waiting for the server; its data is safe\./g)).toHaveLength(1);
    expect(err).toContain('Enough.');
  });

  it('lists batches with the names of their inputs, all pages if asked', async () => {
    for (let i = 0; i < 3; i++) await cli('batch', 'create', 'in.jsonl', '-m', 'team=search');
    server.files.delete('file-2');
    const { out } = await cli('batch', 'list', '--all');
    const rows = out.trimEnd().split('\n');
    expect(rows.map((row) => row.split('\t').slice(9))).toEqual([
      ['in.jsonl', 'team=search'],
      ['', 'team=search'],
      ['in.jsonl', 'team=search'],
    ]);
    const limits = server.requests
      .filter(({ path }) => path === '/v1/batches')
      .map(({ url }) => url.searchParams.get('limit'));
    expect(limits.at(-1)).toBe('100');
    server.behavior.before = (_, path) =>
      path === '/v1/files' ? refusal(403, 'permission_denied', 'No.') : undefined;
    expect((await cli('batch', 'list')).out).toMatch(/^batch_1\t.*\tteam=search\n/);
  });

  it('does not draw a cancelled batch as complete', async () => {
    await cli('batch', 'create', 'in.jsonl');
    const { batch } = server.batches.get('batch_1')!;
    batch.status = 'cancelled';
    batch.request_counts = { total: 10, completed: 3, failed: 7 };
    batch.error_summary = [
      { code: 'batch_cancelled', count: 6, example: 'x' },
      { code: 'upstream_error', count: 1, example: 'y' },
    ];
    expect((await cli('batch', 'watch', 'batch_1')).err).toContain('cancelled 4/10');
    const { err } = await runCli(['batch', 'watch', 'batch_1'], { server, cwd, tty: true });
    expect(err).toContain(' 40% | 4/10');
    expect(err).not.toContain('100%');
  });

  it('follows a batch as JSON lines, and the last one decides the exit code', async () => {
    await cli('batch', 'create', 'in.jsonl');
    const { batch } = server.batches.get('batch_1')!;
    const events = ['in_progress', 'expired'].map(
      (status) => `event: batch\ndata: ${JSON.stringify({ ...batch, status })}\n\n`,
    );
    server.behavior.before = (_, path) =>
      path.endsWith('/events') ? new Response(events.join(': keep-alive\n\n')) : undefined;
    const { code, out } = await cli('batch', 'events', 'batch_1');
    const states = out
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { status: string }).status);
    expect([code, states]).toEqual([4, ['in_progress', 'expired']]);
    events.pop();
    expect(await cli('batch', 'events', 'batch_1')).toMatchObject({ code: 5 });
    events.push(
      'event: error\ndata: {"type":"error","error":{"code":"shutting_down","message":"It stops."}}\n\n',
    );
    expect((await cli('batch', 'events', 'batch_1')).err).toContain('It stops. (shutting_down');
  });

  it('retries the failed requests of a batch', async () => {
    await cli('batch', 'create', 'in.jsonl');
    server.behavior.before = (_, path) =>
      path.endsWith('/retry')
        ? Response.json({ ...server.batches.get('batch_1')!.batch, id: 'batch_2', retry_of: 'batch_1' })
        : undefined;
    const { out } = await cli('batch', 'retry', 'batch_1');
    expect(server.requests.at(-1)).toMatchObject({ method: 'POST', path: '/v1/batches/batch_1/retry' });
    expect(out).toMatch(/^batch_2 [\s\S]*retry of +batch_1/);
  });

  it('rejects metadata that is not key=value', async () => {
    const { code, err } = await cli('batch', 'create', 'in.jsonl', '-m', 'team');
    expect([code, err]).toEqual([1, "Error: --metadata must be key=value, not 'team'.\n"]);
  });
});

describe('chat', () => {
  const events = (...data: string[]) =>
    new Response(data.map((one) => `data: ${one}\n\n`).join(''), {
      headers: { 'content-type': 'text/event-stream' },
    });
  const delta = (content: string) => JSON.stringify({ choices: [{ index: 0, delta: { content } }] });
  const answerWith = (response: () => Response) => {
    server.behavior.before = (_, path) => (path === '/v1/chat/completions' ? response() : undefined);
  };

  it('prints the answer while it arrives', async () => {
    answerWith(() => events(delta('Par'), delta('is'), '[DONE]'));
    expect(await cli('chat', 'What', 'is?')).toEqual({ code: 0, out: 'Paris\n', err: '' });
  });

  it('sends piped input', async () => {
    answerWith(() => events(delta('hi'), '[DONE]'));
    expect(await runCli(['chat'], { server, cwd, stdin: 'Hello\n' })).toMatchObject({ code: 0, out: 'hi\n' });
    expect((await runCli(['chat'], { server, cwd, stdin: '' })).code).toBe(1);
  });

  it('fails on an incomplete answer', async () => {
    answerWith(() => events(delta('Par')));
    const { code, out, err } = await cli('chat', 'x');
    expect([code, out]).toEqual([5, 'Par\n']);
    expect(err).toContain('ended before the answer was complete');
  });

  it('reports an error in the middle of a stream', async () => {
    answerWith(() =>
      events(delta('Par'), JSON.stringify({ error: { code: 'upstream_error', message: 'it broke' } })),
    );
    const { code, err } = await cli('chat', 'x');
    expect(code).toBe(1);
    expect(err).toContain('Error: it broke (upstream_error)');
  });
});

describe('usage', () => {
  const tokens = {
    input_tokens: 20,
    cached_tokens: 8,
    output_tokens: 6,
    reasoning_tokens: 4,
    cache_write_tokens: 5,
  };
  const sums = { requests: 2, ...tokens, amount: '0.003' };
  const rows = ['a', 'b,c', 'd'].map((model) => ({ id: encodeURIComponent(model), model, ...sums }));
  const scope = { org_id: 'org_1', org: 'search' };
  const days = { start: '2026-11-01', end: '2026-11-30' };
  const about = { object: 'list', ...days, ...scope, group_by: ['model'], total: sums };

  /** Answers with two rows per page. */
  const answers = () => {
    const after = server.requests.at(-1)?.url.searchParams.get('after') ?? null;
    const data = after === null ? rows.slice(0, 2) : rows.slice(2);
    return Response.json({ ...about, data, last_id: data.at(-1)?.id, has_more: after === null });
  };
  const asked = () => server.requests.map(({ url, path }) => `${path}${url.search}`);

  it('prints all pages with their total', async () => {
    server.behavior.before = answers;
    const { code, out, err } = await cli('usage', '--group-by', 'model', '--end', '2026-11-30');
    expect([code, out]).toEqual([
      0,
      rows.map(({ model }) => `${model}\t2\t20\t8\t6\t0.003\t4\t5\n`).join(''),
    ]);
    expect(err).toBe('Org search (org_1), from 2026-11-01 to 2026-11-30: 2 requests, 0.003 USD.\n');
    expect(asked()).toEqual([
      '/v1/usage?end=2026-11-30&group_by=model',
      '/v1/usage?start=2026-11-01&end=2026-11-30&group_by=model&after=b%252Cc',
    ]);
  });

  it('prints JSON or CSV, but not both', async () => {
    server.behavior.before = answers;
    const { out } = await cli('usage', '--json');
    expect(JSON.parse(out)).toEqual({ ...about, data: rows, last_id: 'd', has_more: false });
    const csv = await cli('usage', '--csv');
    expect(csv.out).toBe(
      `model,requests,input_tokens,cached_tokens,output_tokens,amount,reasoning_tokens,cache_write_tokens\r\n${['a', '"b,c"', 'd'].map((model) => `${model},2,20,8,6,0.003,4,5\r\n`).join('')}`,
    );
    expect(csv.err).toBe('');
    expect((await cli('usage', '--csv', '--json')).code).toBe(1);
  });

  it('uses the admin key for the usage of other orgs', async () => {
    server.behavior.before = answers;
    const env = { OFFPEAK_URL: server.url, OFFPEAK_API_KEY: 'mine', OFFPEAK_ADMIN_KEY: 'admin' };
    for (const more of [[], ['--org', 'org_1'], ['--group-by', 'day,org']])
      await runCli(['usage', ...more], { server, cwd, env });
    const keys = server.requests.map(({ headers }) => headers.get('authorization')?.slice(7));
    expect(keys.filter((_, n) => n % 2 === 0)).toEqual(['mine', 'admin', 'admin']);
    expect(asked()[2]).toBe('/v1/usage?org_id=org_1');
    expect((await cli('usage', '--org', 'org_1')).err).toContain('needs an admin key');
  });
});

describe('the API key', () => {
  it('comes from a file, an option or the environment', async () => {
    writeFileSync(join(cwd, 'key.txt'), 'from-file\n');
    await cli('batch', 'list', '--key-file', 'key.txt');
    await cli('batch', 'list', '--key', 'from-flag');
    await cli('batch', 'list');
    const sent = server.requests.map(({ headers }) => headers.get('authorization'));
    expect(sent).toEqual(['Bearer from-file', 'Bearer from-flag', 'Bearer key']);
  });

  it('is the admin key for orgs and keys', async () => {
    writeFileSync(join(cwd, 'key.txt'), 'admin-of-file');
    await cli('orgs', 'list', '--key-file', 'key.txt');
    expect(server.requests[0]?.headers.get('authorization')).toBe('Bearer admin-of-file');
  });

  it.each(['one two', 'one\ntwo', 'é'])('is not printed if a header cannot carry it: %j', async (key) => {
    const { code, err } = await runCli(['batch', 'list'], { server, env: { OFFPEAK_API_KEY: key } });
    expect([code, err]).toEqual([1, expect.stringContaining('Invalid key: expected one word')]);
    expect(err).not.toContain(key);
  });

  it('has a warning in the help: other users can read it in an argument', async () => {
    const { out } = await cli('batch', 'list', '--help');
    expect(out.replaceAll(/\s+/g, ' ')).toContain('visible to every user of this machine');
  });
});

describe('orgs create', () => {
  it('prints the created org even when listing the others is forbidden', async () => {
    const org = { id: 'org_1', name: 'search', weight: 1, limits: {}, disabled_at: null, budget: null };
    server.behavior.before = (method) =>
      method === 'POST' ? Response.json(org, { status: 201 }) : refusal(403, 'permission_denied', 'No.');
    const made = await cli('orgs', 'create', 'search', '--key', 'admin');
    expect(made).toMatchObject({ code: 0, out: expect.stringContaining('org_1'), err: '' });
  });
});

describe('errors', () => {
  it('have a code, a request ID and a hint, without a stack', async () => {
    server.behavior.before = () => refusal(401, 'invalid_api_key', 'This key is not known.');
    const { code, out, err } = await cli('batch', 'list');
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain('Error: This key is not known. (invalid_api_key, request req_1)');
    expect(err).toContain('OFFPEAK_API_KEY');
    expect(err).not.toMatch(/\n\s+at /);
  });

  it('on an unknown model name the commands that take --model', async () => {
    server.behavior.before = () => refusal(404, 'model_not_found', 'No such model.');
    const { err } = await cli('chat', 'hi', '--model', 'zz');
    expect(err).toMatch(/models list\. Select one with --model in chat and batch run\.\n$/);
  });

  it('name an unusable key file', async () => {
    const none = await cli('batch', 'list', '--key-file', 'no-such-file');
    expect([none.code, none.err]).toEqual([
      1,
      expect.stringContaining('Cannot read the key file no-such-file'),
    ]);
    writeFileSync(join(cwd, 'two.txt'), 'one\ntwo\n');
    const two = await cli('batch', 'list', '--key-file', 'two.txt');
    expect([two.code, two.err]).toEqual([1, expect.stringContaining('two.txt must contain one key')]);
    const both = await cli('batch', 'list', '--key-file', 'a', '--key', 'b');
    expect([both.code, both.err]).toEqual([1, expect.stringContaining('cannot be combined')]);
  });

  it('are JSON with --json', async () => {
    server.behavior.before = () => refusal(404, 'not_found', 'No such batch.');
    const { err } = await cli('batch', 'get', 'batch_x', '--json');
    expect(JSON.parse(err)).toEqual({
      error: { message: 'No such batch.', code: 'not_found', request_id: 'req_1' },
    });
  });

  it('are JSON with --json even when the command line is invalid', async () => {
    const { err } = await cli('batch', 'list', '--limti', '--json');
    const message = "unknown option '--limti' (Did you mean --limit?)";
    expect(JSON.parse(err)).toEqual({ error: { message, hint: expect.stringContaining('--help') } });
  });

  it('name a server that is not Offpeak', async () => {
    server.behavior.before = () => new Response('<html>', { status: 502, statusText: 'Bad Gateway' });
    expect((await cli('batch', 'list')).err).toContain(
      'answered 502 Bad Gateway, which is not an Offpeak answer',
    );
    server.behavior.before = () => new Response('<html>');
    const { code, err } = await cli('batch', 'list');
    expect(code).toBe(5);
    expect(err).toContain('Is this an Offpeak server?');
  });

  it('name an unreachable server', async () => {
    const { code, err } = await runCli(['batch', 'list'], { env: { OFFPEAK_URL: 'http://nobody.test' } });
    expect(code).toBe(5);
    expect(err).toContain('http://nobody.test cannot be reached');
  });

  it.each([
    [['batch', 'lst'], 'unknown command'],
    [['batch', 'get'], 'missing required argument'],
    [['files', 'list', '--limit', 'x'], '--limit must be a whole number'],
    [['keys', 'create'], 'required option'],
    [['keys', 'list'], 'needs an admin key'],
    [['keys', 'update', 'key_1', '--key', 'k', '--budget', '$5'], "or none, not '$5'"],
    [
      ['orgs', 'update', 'org_1', '--key', 'k'],
      'Nothing to change.\nPass --name, --budget, --limit or --weight.',
    ],
    [['keys', 'update', 'key_1', '--key', 'k'], 'Nothing to change.\nPass --name, --scopes,'],
    [
      ['orgs', 'update', 'a', '--key', 'k', '--limit', 'rpm=5'],
      "Unknown limit 'rpm'.\nKnown are requests_per_",
    ],
    [['orgs', 'update', 'a', '--key', 'k', '--limit', 'open_batches=5k'], 'must be a whole number or none'],
    [['orgs', 'update', 'a', '--key', 'k', '--limit', 'queued_tokens=5'], 'needs a model'],
    [['keys', 'rotate', 'key_1', '--key', 'k', '--overlap', '1d'], '--overlap must be a whole number'],
    [['audit', 'verify', 'none.jsonl'], 'none.jsonl'],
    [['webhooks', 'update', 'wh_1'], 'Nothing to change.\nPass --to, --name,'],
    [
      ['orgs', 'update', 'org_1', '--key', 'k', '--budget', '5/week'],
      "such as 50/month, 500 or 50/month,soft, or none, not '5/week'",
    ],
    [['batch', 'list', '--url', 'nonsense'], 'is not an http:// or https:// URL'],
    [['batch', 'run'], 'Run the command with --help for its usage.'],
  ])('report wrong usage: %j', async (argv, message) => {
    const { code, err } = await cli(...argv);
    expect(code).toBe(1);
    expect(err).toContain(message);
  });

  it('do not include help and version', async () => {
    expect(await cli('--version')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
    expect(await cli('batch', 'run', '--help')).toMatchObject({ code: 0, err: '' });
  });
});

describe('config check', () => {
  it('reports every problem with file, line and suggestion', async () => {
    writeFileSync(
      join(cwd, 'offpeak.yaml'),
      'server:\n  prot: 1\nmodels:\n  - id: m\n    engine: { kind: scriptd }\n',
    );
    const { code, err } = await cli('config', 'check');
    expect(code).toBe(1);
    expect(err).toContain(`${cwd}/offpeak.yaml:2: server.prot: unknown key. Did you mean 'port'?`);
    expect(err).toContain(
      "offpeak.yaml:5: models[0].engine.kind: must be one of llama, openai, job, scripted. Did you mean 'scripted'?",
    );
  });

  it('prints the effective configuration without secrets', async () => {
    writeFileSync(
      join(cwd, 'offpeak.yaml'),
      'database: postgres://u:hidden-1@h/db\nmodels:\n  - id: m\n    engine: { kind: openai, url: "http://h/v1?key=hidden-5&version=1&api-version=2024-10-21", api_key: hidden-2, headers: { x-key: hidden-4 } }\n',
    );
    for (const more of [[], ['--json']]) {
      const { code, out } = await runCli(['config', 'check', ...more], {
        cwd,
        env: { OFFPEAK_API_KEY: 'hidden-3'.repeat(4) },
      });
      expect(code).toBe(0);
      expect(out).toContain('http://h/v1?key=xxx&version=xxx&api-version=2024-10-21');
      expect(out).not.toContain('hidden');
    }
  });
});

describe('config check --json', () => {
  it('keeps the names of a custom flavor as they are', async () => {
    const flavor = { rename: { token: 'tok', headers: 'h', path: 'p' }, finish: { token: 'stop' } };
    const engine = { kind: 'openai', url: 'http://h/v1?key=hidden', flavor };
    writeFileSync(join(cwd, 'offpeak.yaml'), JSON.stringify({ models: [{ id: 'm', engine }] }));
    const { out } = await runCli(['config', 'check', '--json'], { cwd, env: { OFFPEAK_API_KEY: '' } });
    expect(out).not.toContain('hidden');
    const { models } = JSON.parse(out) as { models: { engine: { ownTraits: object } }[] };
    expect(models[0]!.engine.ownTraits).toMatchObject({ names: flavor.rename, finish: flavor.finish });
  });
});

describe('a model that cannot run requests', () => {
  const since = '2026-11-21T09:30:00Z';
  const waiting = { reason: 'engine_unavailable', message: 'It is away.', since, until: null } as const;

  it('appears in the output of batch commands', async () => {
    await cli('files', 'upload', 'in.jsonl');
    await cli('batch', 'create', 'file-1');
    server.behavior.polls = 4;
    const { batch } = server.batches.get('batch_1')!;
    batch.waiting = waiting;
    const shown = await cli('batch', 'get', 'batch_1');
    expect(shown.out).toContain('since 2026-11-21T09:30:00Z: It is away. (engine_unavailable)');
    expect((await cli('batch', 'list')).out).toContain('\tengine_unavailable\t');
    batch.waiting = { ...waiting, reason: 'hours', until: '2026-11-21T21:00:00Z' };
    expect((await cli('batch', 'list')).out).toContain('\thours, until 2026-11-21T21:00:00Z\t');
    batch.waiting = waiting;
    const watched = await cli('batch', 'watch', 'batch_1');
    expect(watched.err).toMatch(/waiting: engine_unavailable .*\| It is away\.$/m);
  });

  it('is listed even if a server of another version sends fewer fields', async () => {
    server.behavior.before = () => Response.json({ data: [{ id: 'tiny' }, { id: 'far', batch_only: true }] });
    expect(await cli('models', 'list')).toMatchObject({ code: 0, out: 'tiny\t\t\nfar\t\t (batches only)\n' });
  });

  it('appears in the model list for admins', async () => {
    const replica = { health: 'up', slots: 8, in_flight: 2, waiting: null };
    const away = { ...replica, name: 'gpu-2/v1', health: 'open', in_flight: 0, waiting };
    const own = { id: 'tiny', aliases: ['default'], serves: ['chat'] };
    server.behavior.before = () => {
      const isAdmin = server.requests.at(-1)!.headers.get('authorization') === 'Bearer admin';
      const replicas = [{ ...replica, name: 'gpu-1/v1' }, away];
      return Response.json({ data: [{ ...own, ...(isAdmin && { replicas }) }] });
    };
    expect((await cli('models', 'list')).out).toBe('tiny\tdefault\tchat\n');
    const seen = await runCli(['models', 'list'], { server, cwd, env: { OFFPEAK_ADMIN_KEY: 'admin' } });
    expect(seen.out).toBe('tiny\tdefault\tchat\t1 of 2 up, 2 in flight, 8 slots\n');
    expect(seen.err).toBe(
      'tiny: gpu-2/v1 takes no requests since 2026-11-21T09:30:00Z. It is away. (engine_unavailable)\n',
    );
  });
});

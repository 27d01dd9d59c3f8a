import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFakeServer, failed, refusal, succeeded } from './support/fake-server.ts';
import type { FakeServer } from './support/fake-server.ts';
import { runCli, duringWait } from './support/run-cli.ts';

const many = Array.from({ length: 20_005 }, (_, index) => `r${index}`);
let cwd: string;
let server: FakeServer;

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'offpeak-cli-'));
  server = createFakeServer();
});

afterEach(() => rmSync(cwd, { recursive: true, force: true }));

const lineOf = (custom_id: string) =>
  JSON.stringify({ custom_id, method: 'POST', url: '/v1/chat/completions', body: {} });

function jsonl(ids: readonly string[]): string {
  return ids.map((id) => `${lineOf(id)}\n`).join('');
}

const write = (name: string, text: string) => writeFileSync(join(cwd, name), text);
const read = (name: string) => readFileSync(join(cwd, name), 'utf8');

function idsOf(text: string): string[] {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { custom_id: string }).custom_id);
}

const run = (...argv: string[]) => runCli(['batch', 'run', ...argv], { server, cwd });
const posts = () => server.requests.filter(({ method }) => method === 'POST').map(({ path }) => path);
const uploads = () => [...server.files.values()].map(({ text }) => text);

describe('batch run with a file too large for one batch', () => {
  beforeEach(() => write('big.jsonl', jsonl(many)));

  it.each([
    [['expired', 'failed', 'completed'], 3],
    [['completed', 'completed', 'expired'], 4],
  ] as const)('ends with the code of the worst of its batches: %j', async (ends, worst) => {
    server.behavior.ends = [...ends];
    server.behavior.answer = (id) => (id === 'r7' ? failed(id) : succeeded(id));
    expect((await run('big.jsonl', '-o', 'out.jsonl')).code).toBe(worst);
  });

  it('runs several batches, after checking all lines, and writes one result file in input order', async () => {
    server.behavior.answer = (id) => (id === 'r7' || id === 'r15000' ? failed(id) : succeeded(id));
    const { code, out, err } = await run('big.jsonl', '-o', 'out.jsonl');
    expect(code).toBe(2);
    expect(posts().slice(0, 3)).toEqual(['/v1/files', '/v1/files', '/v1/files']);
    expect([...server.batches.values()].map(({ lines }) => lines.length)).toEqual([10_000, 10_000, 5]);
    expect(idsOf(read('out.jsonl'))).toEqual(many.filter((id) => id !== 'r7' && id !== 'r15000'));
    expect(idsOf(read('out.errors.jsonl'))).toEqual(['r7', 'r15000']);
    expect(readdirSync(cwd).toSorted()).toEqual(['big.jsonl', 'out.errors.jsonl', 'out.jsonl']);
    expect(err).toContain('20005 requests as 3 batches');
    expect(out).toContain('3 batches completed: 20003 completed, 2 failed');
    expect(out).toContain('0.0015 USD (0.003 without a batch)');
    expect(out).toContain('2 x context_length_exceeded: too long');
  });

  describe('in a short window', () => {
    const message = 'completion_window: the batch would miss the window of 1h.';
    const refuse = () => refusal(422, 'window_too_short', message);

    it('creates each batch when there is room for it after the earlier ones', async () => {
      let refused = 0;
      server.behavior.before = (method, path) => {
        const open = [...server.batches.values()].filter(({ batch }) => batch.status !== 'completed');
        for (const { batch, lines } of open) batch.request_counts.completed = lines.length - 1;
        if (method !== 'POST' || path !== '/v1/batches' || open.length === 0) return undefined;
        refused++;
        return refuse();
      };
      const { code } = await run('big.jsonl', '-o', 'out.jsonl', '--window', '1h');
      expect(code).toBe(0);
      expect(refused).toBeGreaterThan(0);
      expect([...server.batches.values()].map(({ batch }) => batch.completion_window)).toEqual([
        '1h',
        '1h',
        '1h',
      ]);
      expect(idsOf(read('out.jsonl'))).toEqual(many);
    });

    it('starts nothing if the first one cannot be done in time', async () => {
      server.behavior.before = (method, path) =>
        method === 'POST' && path === '/v1/batches' ? refuse() : undefined;
      const { code, err } = await run('big.jsonl', '-o', 'out.jsonl', '--window', '1h');
      expect([code, err]).toEqual([1, expect.stringContaining(message)]);
      expect(readdirSync(cwd)).toEqual(['big.jsonl']);
    });
  });

  it('rejects duplicate custom_ids before any upload, even when they are far apart', async () => {
    write('twice.jsonl', `{}\n\n${jsonl(many)}${jsonl(['r1', 'r2'])}`);
    const { code, err } = await run('twice.jsonl', '-o', 'out.jsonl');
    expect([code, err]).toEqual([
      1,
      expect.stringContaining("Lines 4 and 20008 have the same custom_id 'r1'."),
    ]);
    expect(server.requests).toEqual([]);
    expect(existsSync(join(cwd, 'out.jsonl.offpeak.json'))).toBe(false);
  });

  it('names the setting of a server that accepts fewer requests', async () => {
    server.behavior.before = (method) =>
      method === 'POST' ? refusal(422, 'too_many_tasks', 'more than 100 requests in one file') : undefined;
    const { code, err } = await run('big.jsonl', '-o', 'out.jsonl');
    expect([code, err]).toEqual([1, expect.stringContaining('limits.requests_per_batch')]);
  });

  it('splits by bytes as well', async () => {
    const wide = 'x'.repeat(1 << 20);
    const lines = Array.from({ length: 33 }, (_, index) => `{"custom_id":"${index}","body":"${wide}"}\n`);
    write('wide.jsonl', lines.join(''));
    expect((await run('wide.jsonl', '-o', 'out.jsonl')).code).toBe(0);
    expect(uploads().length).toBe(2);
    for (const text of uploads()) expect(text.length).toBeLessThanOrEqual(33_554_432);
    expect(uploads().join('') === read('wide.jsonl')).toBe(true);
  });

  it('runs the batches one at a time, so that the requests run in order', async () => {
    const open = new Set<string>();
    let most = 0;
    server.behavior.polls = 4;
    server.behavior.before = () => {
      for (const [id, { batch }] of server.batches)
        if (batch.status === 'completed') open.delete(id);
        else open.add(id);
      most = Math.max(most, open.size);
      return undefined;
    };
    await run('big.jsonl', '-o', 'out.jsonl');
    expect(most).toBe(1);
  });

  it('resumes from any point of interruption', async () => {
    const stop = (at: (method: string, path: string) => boolean, status = 400) => {
      server.behavior.before = (method, path) =>
        at(method, path) ? refusal(status, 'stopped_here', 'Stopped.') : undefined;
    };
    const places = [
      (method: string) => method === 'POST' && server.files.size === 2,
      (method: string, path: string) =>
        method === 'POST' && path === '/v1/batches' && server.batches.size === 1,
      (_: string, path: string) => path === '/v1/batches/batch_2/output',
      (_: string, path: string) => path === '/v1/batches/batch_3/errors',
    ];
    for (const [index, place] of places.entries()) {
      // A rejection of the whole file would leave nothing to resume.
      stop(place, index === 0 ? 500 : 400);
      const { code, err } = await run('big.jsonl', '-o', 'out.jsonl');
      expect([index, code, err]).toEqual([index, 1, expect.stringContaining('Stopped.')]);
      // As after a kill: the file holds more than the state records.
      if (existsSync(join(cwd, 'out.jsonl.part'))) appendFileSync(join(cwd, 'out.jsonl.part'), 'half a li');
    }
    stop(() => false);
    const { code, out } = await run('big.jsonl', '-o', 'out.jsonl');
    expect(code).toBe(0);
    expect(idsOf(read('out.jsonl'))).toEqual(many);
    expect(server.batches.size).toBe(3);
    expect(server.files.size).toBe(3);
    expect(out).toContain('3 batches completed: 20005 completed, 0 failed');
    expect(readdirSync(cwd).toSorted()).toEqual(['big.jsonl', 'out.jsonl']);
  });

  it('finishes after a kill between publishing the result file and deleting the state', async () => {
    write('big.jsonl', jsonl(many.slice(0, 10_005)));
    server.behavior.before = (_, path) =>
      path === '/v1/batches/batch_2/output' ? refusal(400, 'stopped_here', 'Stopped.') : undefined;
    await run('big.jsonl', '-o', 'out.jsonl');
    server.behavior.before = () => undefined;
    const state = read('out.jsonl.offpeak.json');
    await run('big.jsonl', '-o', 'out.jsonl');
    const results = read('out.jsonl');
    const parts = (JSON.parse(state) as { collected: object }).collected;
    write(
      'out.jsonl.offpeak.json',
      JSON.stringify({
        ...JSON.parse(state),
        collected: { ...parts, parts: 2, sizes: { output: results.length, errors: 0 } },
      }),
    );
    expect((await run('big.jsonl', '-o', 'out.jsonl')).code).toBe(0);
    expect(read('out.jsonl')).toBe(results);
  });

  it('reports results of an earlier run that were deleted', async () => {
    write('big.jsonl', jsonl(many.slice(0, 10_005)));
    server.behavior.before = (_, path) =>
      path === '/v1/batches/batch_2/output' ? refusal(400, 'stopped_here', 'Stopped.') : undefined;
    await run('big.jsonl', '-o', 'out.jsonl');
    renameSync(join(cwd, 'out.jsonl.part'), join(cwd, 'elsewhere'));
    const { code, err } = await run('big.jsonl', '-o', 'out.jsonl');
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('out.jsonl.part, which contained results of an earlier run, is missing'),
    ]);
  });

  it('counts the lines of an error from the start of the whole file', async () => {
    server.behavior.before = (_, path) =>
      path === '/v1/files' && server.files.size === 1
        ? refusal(422, 'validation_error', '1 line is bad', [
            { line: 5, code: 'invalid_json_line', message: 'not JSON' },
          ])
        : undefined;
    const { code, err } = await run('big.jsonl', '-o', 'out.jsonl');
    expect(code).toBe(1);
    expect(err).toContain('line 10005: not JSON');
    expect(readdirSync(cwd)).toEqual(['big.jsonl']);
    expect(server.batches.size).toBe(0);
  });

  it('on cancel, stops running batches, sends no more, and collects the finished results', async () => {
    write('big.jsonl', jsonl(many.slice(0, 10_005)));
    server.behavior.polls = 1000;
    const { code, err, out } = await runCli(['batch', 'run', 'big.jsonl', '-o', 'out.jsonl'], {
      server,
      cwd,
      interrupt: duringWait,
      tty: true,
      stdin: 'c\n',
    });
    expect(err).toContain('[c]ancel');
    expect(code).toBe(4);
    expect(server.batches.size).toBeLessThan(2);
    expect(out).toContain('have no result');
  });
});

describe('files of batch run', () => {
  beforeEach(() => write('in.jsonl', jsonl(['a', 'b', 'c'])));

  it('hold every line once when the server fails between the two result streams', async () => {
    server.behavior.answer = (id) => (id === 'b' ? failed(id) : succeeded(id));
    let refusals = 2;
    server.behavior.before = (_, path) =>
      path === '/v1/batches/batch_1/errors' && refusals-- > 0
        ? refusal(503, 'service_unavailable', 'Busy.')
        : undefined;
    expect((await run('in.jsonl', '-o', 'out.jsonl')).code).toBe(2);
    expect(refusals).toBeLessThan(0);
    expect(idsOf(read('out.jsonl'))).toEqual(['a', 'c']);
    expect(idsOf(read('out.errors.jsonl'))).toEqual(['b']);
  });

  it('never overwrite the input or a file beside it', async () => {
    write('eval.input.jsonl', jsonl(['a']));
    await run('eval.input.jsonl', '-o', 'eval', '--model', 'm');
    expect(read('eval.input.jsonl')).toBe(jsonl(['a']));
    write('out.errors.jsonl', jsonl(['a']));
    const over = await run('out.errors.jsonl', '-o', 'out.jsonl');
    expect([over.code, over.err]).toEqual([1, expect.stringContaining('overwrite the input')]);
    const precious = await run('in.jsonl', '-o', 'out.jsonl');
    expect([precious.code, precious.err]).toEqual([
      1,
      expect.stringContaining('out.errors.jsonl already exists'),
    ]);
    expect(read('out.errors.jsonl')).toBe(jsonl(['a']));
  });

  it.each(['folder', '/dev/null'])(
    'do not replace %s: the run is rejected before it costs anything',
    async (place) => {
      mkdirSync(join(cwd, 'folder'), { recursive: true });
      const { code, err } = await run('in.jsonl', '-o', place, '--force');
      expect([code, err]).toEqual([1, expect.stringContaining(`${place} is not a file`)]);
      expect(server.requests).toEqual([]);
    },
  );

  it('keep one format from the first run to the last', async () => {
    server.behavior.polls = 1000;
    const argv = ['batch', 'run', 'in.jsonl', '-o', 'out'];
    await runCli([...argv, '--format', 'csv'], { server, cwd, interrupt: duringWait });
    const { code, err } = await run('in.jsonl', '-o', 'out');
    expect([code, err]).toEqual([1, expect.stringContaining('Pass --format csv')]);
  });

  it('record a batch that may have been created, whatever stops the next run', async () => {
    server.behavior.before = (method, path) => {
      if (method === 'POST' && path === '/v1/batches') throw new TypeError('fetch failed');
      return undefined;
    };
    expect((await run('in.jsonl', '-o', 'out.jsonl')).code).toBe(5);
    server.behavior.before = () => refusal(401, 'invalid_api_key', 'No.');
    expect((await run('in.jsonl', '-o', 'out.jsonl')).code).toBe(1);
    expect(existsSync(join(cwd, 'out.jsonl.offpeak.json'))).toBe(true);
  });

  it('are removed when the run is cancelled before a batch exists', async () => {
    server.behavior.before = (method, path) =>
      method === 'POST' && path === '/v1/batches' ? refusal(429, 'queue_full', 'Full.') : undefined;
    const argv = ['batch', 'run', 'in.jsonl', '-o', 'out.jsonl'];
    const { code, err } = await runCli(argv, {
      server,
      cwd,
      interrupt: duringWait,
      tty: true,
      stdin: 'c\n',
    });
    expect([code, err]).toEqual([4, expect.stringContaining('Nothing was started.')]);
    expect(readdirSync(cwd)).toEqual(['in.jsonl']);
  });
});

describe('input of batch run', () => {
  it('is read from stdin, and results go to stdout in input order, failed lines included, without files', async () => {
    server.behavior.answer = (id) => (id === 'b' ? failed(id) : succeeded(id));
    const { code, out, err } = await runCli(['batch', 'run', '-'], {
      server,
      cwd,
      stdin: jsonl(['a', 'b', 'c']),
    });
    expect(code).toBe(2);
    expect(idsOf(out)).toEqual(['a', 'b', 'c']);
    expect(err).toContain('2 completed, 1 failed');
    expect(readdirSync(cwd)).toEqual([]);
  });

  it('is rejected when it is empty', async () => {
    const { code, err } = await runCli(['batch', 'run', '-'], { server, cwd, stdin: '\n \n' });
    expect([code, err]).toEqual([1, 'Error: The input has no requests.\n']);
  });

  it('keeps its bytes except for a new model, settings and endpoint', async () => {
    const body = '{"model": "gpt-x", "seed": 12345678901234567890, "messages":[ ]}';
    write('in.jsonl', `{"custom_id":"a", "url":"/v1/x", "body": ${body} , "method":"POST"}\n[1]\n`);
    await run(
      'in.jsonl',
      '-o',
      'o',
      '--model',
      'mine',
      '--set',
      'temperature=0',
      'stop=###',
      '--endpoint',
      '/v1/responses',
    );
    expect(uploads()).toEqual([
      '{"custom_id":"a", "url":"/v1/responses", "body": {"temperature":0,"stop":"###","model": "mine", "seed": 12345678901234567890, "messages":[ ]} , "method":"POST"}\n[1]\n',
    ]);
    expect(readdirSync(cwd).toSorted()).toEqual(['in.jsonl', 'o']);
    const wrong = await run('in.jsonl', '-o', 'other', '--set', 'temperature');
    expect(wrong.err).toContain("--set must be key=value, not 'temperature'");
  });

  it('becomes a CSV table in input order', async () => {
    write('in.jsonl', jsonl(['a', 'b', 'c']));
    server.behavior.answer = (id) => {
      if (id === 'b') return failed(id);
      const content = id === 'a' ? 'one, "two"\nthree' : null;
      const tool_calls = id === 'a' ? undefined : [{ id: 'x' }];
      const body = {
        choices: [{ message: { content, tool_calls }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 3, completion_tokens: 4 },
      };
      return { ...succeeded(id), response: { status_code: 200, body } };
    };
    expect((await run('in.jsonl', '-o', 'deep/er/out.csv', '--format', 'csv')).code).toBe(2);
    expect(read('deep/er/out.csv').split('\r\n')).toEqual([
      'custom_id,status_code,content,finish_reason,input_tokens,output_tokens,error_code,error_message',
      'a,200,"one, ""two""\nthree",stop,3,4,,',
      'b,,,,,,context_length_exceeded,too long',
      'c,200,"[{""id"":""x""}]",stop,3,4,,',
      '',
    ]);
    expect((await run('in.jsonl', '--format', 'xml')).err).toContain("not 'xml'");
  });

  it('keeps its order and its count after a byte order mark', async () => {
    write('in.jsonl', `\uFEFF${jsonl(['r1', 'r2', 'r3', 'r4', 'r5'])}`);
    const { err } = await run('in.jsonl', '-o', 'out.jsonl');
    expect(err).toContain('5 requests');
    expect(idsOf(read('out.jsonl'))).toEqual(['r1', 'r2', 'r3', 'r4', 'r5']);
  });

  it('is collected when the batch ends during its cancellation', async () => {
    write('in.jsonl', jsonl(['a', 'b']));
    server.behavior.polls = 1000;
    server.behavior.before = (_, path) => {
      if (!path.endsWith('/cancel')) return undefined;
      server.behavior.polls = 1;
      return refusal(409, 'batch_already_finished', 'It has ended.');
    };
    const { code } = await runCli(['batch', 'run', 'in.jsonl', '-o', 'out.jsonl'], {
      server,
      cwd,
      interrupt: duringWait,
      tty: true,
      stdin: 'c\n',
    });
    expect(code).toBe(0);
    expect(idsOf(read('out.jsonl'))).toEqual(['a', 'b']);
  });
});

import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ResultLine } from '../../src/client/resources.ts';
import { createFakeServer, failed, succeeded, type FakeServer } from './support/fake-server.ts';
import { runCli, duringWait } from './support/run-cli.ts';

let cwd: string;
let server: FakeServer;

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'offpeak-rows-'));
  server = createFakeServer();
  write('r.csv', 'id,review\na,good\nb,bad\n');
});

afterEach(() => rmSync(cwd, { recursive: true, force: true }));

const write = (name: string, text: string) => writeFileSync(join(cwd, name), text);
const read = (name: string) => readFileSync(join(cwd, name), 'utf8');
const files = () => readdirSync(cwd).toSorted();
const cli = (...argv: string[]) => runCli(['batch', 'run', ...argv], { server, cwd });
const ask = (...more: string[]) =>
  cli('r.csv', '--prompt', 'Classify: {{ review }}', '--model', 'm', '-o', 'out.csv', ...more);
const uploaded = () =>
  [...server.files.values()].flatMap(({ text }) =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { custom_id: string; url: string; body: Record<string, unknown> }),
  );
const contentOf = (customId: string, content: string): ResultLine => ({
  ...succeeded(customId),
  response: { status_code: 200, body: { choices: [{ message: { content } }] } },
});

describe('batch run with a prompt', () => {
  it('asks for each row, and joins the answers to the columns of the table', async () => {
    const { code, out } = await ask('--system', 'You judge {{ id }}.', '--set', 'temperature=0');
    expect(code).toBe(0);
    expect(uploaded()[0]).toEqual({
      custom_id: 'row-1',
      method: 'POST',
      url: '/v1/chat/completions',
      body: {
        model: 'm',
        messages: [
          { role: 'system', content: 'You judge a.' },
          { role: 'user', content: 'Classify: good' },
        ],
        temperature: 0,
      },
    });
    expect(read('out.csv')).toBe(
      'id,review,answer,finish_reason,input_tokens,output_tokens,error_code,error_message\r\n' +
        'a,good,answer to row-1,,,,,\r\nb,bad,answer to row-2,,,,,\r\n',
    );
    expect(out).toContain('completed: 2 completed, 0 failed');
    expect(files()).toEqual(['out.csv', 'r.csv']);
  });

  it('keeps failed rows, with their errors', async () => {
    server.behavior.answer = (id) => (id === 'row-1' ? failed(id) : succeeded(id));
    expect((await ask()).code).toBe(2);
    expect(read('out.csv')).toContain('a,good,,,,,context_length_exceeded,too long\r\nb,bad,answer to row-2');
  });

  it('reads prompts from files, and ids from a column', async () => {
    write('p.txt', 'Read {{ review }}');
    await cli('r.csv', '--prompt', '@p.txt', '--id-column', 'id', '--model', 'm');
    expect(uploaded().map(({ custom_id }) => custom_id)).toEqual(['a', 'b']);
    expect(files()).toContain('r.output.csv');
  });

  it('spreads structured answers into columns', async () => {
    const properties = { label: { type: 'string' }, score: { type: 'number' }, why: { type: 'array' } };
    write('s.json', JSON.stringify({ type: 'object', properties }));
    const answer = JSON.stringify({ label: '=1+1', score: 0.5, why: ['x'] });
    server.behavior.answer = (id) => contentOf(id, id === 'row-1' ? answer : 'no idea');
    expect((await ask('--schema', 's.json')).code).toBe(0);
    expect(uploaded()[0]!.body['response_format']).toEqual({
      type: 'json_schema',
      json_schema: { name: 'answer', strict: true, schema: { type: 'object', properties } },
    });
    const [head, first, second] = read('out.csv').split('\r\n');
    expect(head).toBe(
      'id,review,label,score,why,finish_reason,input_tokens,output_tokens,error_code,error_message',
    );
    expect(first).toBe(`a,good,'=1+1,0.5,"[""x""]",,,,,`);
    expect(second).toBe('b,bad,,,,,,,invalid_answer,The answer is not a JSON object: no idea');
  });

  it('keeps the text of JSON Lines, and gives new names to columns that exist', async () => {
    write('in.jsonl', '{"n": 12345678901234567890, "answer": "old"}\n\n{ }\n');
    await cli('in.jsonl', '--prompt', 'Q {{ n }}{{ answer }}', '--model', 'm', '-o', 'o.jsonl');
    const tail =
      '"finish_reason":null,"input_tokens":null,"output_tokens":null,"error_code":null,"error_message":null}';
    expect(read('o.jsonl')).toBe(
      `{"n": 12345678901234567890, "answer": "old","answer_2":"answer to line-1",${tail}\n` +
        `{"answer_2":"answer to line-3",${tail}\n`,
    );
    expect(uploaded()[0]!.body['messages']).toEqual([{ role: 'user', content: 'Q 12345678901234567890old' }]);
  });

  it('writes another format by the ending of the output', async () => {
    await cli(
      'r.csv',
      '--prompt',
      '{{ review }}',
      '--model',
      'm',
      '-o',
      'o.jsonl',
      '--answer-column',
      'label',
    );
    expect(JSON.parse(read('o.jsonl').split('\n')[1]!)).toMatchObject({ id: 'b', label: 'answer to row-2' });
  });

  it('reads stdin and writes stdout', async () => {
    const argv = ['batch', 'run', '-', '--prompt', '{{ t }}', '--model', 'm', '--format', 'jsonl'];
    const { out } = await runCli(argv, { server, cwd, stdin: 't\nx\n' });
    expect(JSON.parse(out.split('\n')[0]!)).toMatchObject({ t: 'x', answer: 'answer to row-1' });
  });

  it('asks equal requests once with --dedupe, and answers every row', async () => {
    write(
      'r.csv',
      `id,review\n${['good', 'bad', 'good', 'good'].map((text, id) => `${id},${text}\n`).join('')}`,
    );
    const { err } = await ask('--dedupe');
    expect(uploaded().map(({ custom_id }) => custom_id)).toEqual(['row-1', 'row-2']);
    const answers = read('out.csv').split('\r\n').slice(1, -1);
    expect(answers.map((line) => line.split(',')[2])).toEqual(
      [1, 2, 1, 1].map((row) => `answer to row-${row}`),
    );
    expect(err).toContain('4 rows: 2 repeated, 2 requests to ask.');
  });

  it('has an endpoint for moderations, whose answers are JSON', async () => {
    const result = { flagged: true, categories: { violence: true } };
    server.behavior.answer = (id) => ({
      ...succeeded(id),
      response: {
        status_code: 200,
        request_id: 'req_1',
        body: { id: 'modr_1', model: 'm', results: [result] },
      },
    });
    await ask('--endpoint', '/v1/moderations');
    const [request] = uploaded();
    expect(request).toMatchObject({ url: '/v1/moderations', body: { input: 'Classify: good' } });
    const [, row] = read('out.csv').split('\r\n');
    expect(row).toContain('"{""flagged"":true,""categories"":{""violence"":true}}"');
  });

  it('has an endpoint for embeddings', async () => {
    await ask('--endpoint', '/v1/embeddings');
    expect(uploaded()[0]).toMatchObject({
      url: '/v1/embeddings',
      body: { model: 'm', input: 'Classify: good' },
    });
  });
});

describe('batch run --cache', () => {
  it('asks only what no earlier run has answered', async () => {
    server.behavior.answer = (id) => (id === 'row-2' ? failed(id) : succeeded(id));
    await ask('--cache', 'answers');
    server.behavior.answer = succeeded;
    write('r.csv', 'id,review\na,good\nb,bad\nc,new\nd,good\n');
    const { code, err } = await ask('--cache', 'answers', '--force');
    expect([code, err]).toEqual([
      0,
      expect.stringContaining('4 rows: 1 repeated, 1 in the cache, 2 requests'),
    ]);
    expect(uploaded().map(({ custom_id }) => custom_id)).toEqual(['row-1', 'row-2', 'row-2', 'row-3']);
    const answers = read('out.csv').split('\r\n').slice(1, -1);
    expect(answers.map((line) => line.split(',')[2])).toEqual(
      [1, 2, 3, 1].map((row) => `answer to row-${row}`),
    );
  });

  it('starts no batch when it has all answers', async () => {
    await ask('--cache', 'answers');
    const { code, out } = await ask('--cache', 'answers', '--force');
    expect([code, out]).toEqual([0, expect.stringContaining('results  out.csv')]);
    expect(server.batches.size).toBe(1);
    expect(read('out.csv')).toContain('b,bad,answer to row-2');
    expect(files()).toEqual(['answers', 'out.csv', 'r.csv']);
  });
});

describe('batch run --sample', () => {
  it.each(['csv', 'jsonl'])('asks for the same random rows of %s each time', async (format) => {
    const line = (row: number) => (format === 'csv' ? `${row},text ${row}\n` : `{"review":"text ${row}"}\n`);
    write(
      `s.${format}`,
      (format === 'csv' ? 'id,review\n' : '') + Array.from({ length: 500 }, (_, row) => line(row)).join(''),
    );
    const run = async (...more: string[]) => {
      await cli(
        `s.${format}`,
        '--prompt',
        '{{ review }}',
        '--model',
        'm',
        '-o',
        'o.jsonl',
        '-f',
        '--sample',
        '5',
        ...more,
      );
      return read('o.jsonl')
        .trimEnd()
        .split('\n')
        .map((text) => (JSON.parse(text) as { review: string }).review);
    };
    const first = await run();
    expect([new Set(first).size, await run()]).toEqual([5, first]);
    expect(await run('--seed', '7')).not.toEqual(first);
    expect(uploaded()).toHaveLength(15);
  });
});

describe('batch run --dry-run', () => {
  const estimate = {
    object: 'batch.estimate',
    request_counts: { total: 10_000, completed: 0, failed: 0 },
    usage: { input_tokens: 100, output_tokens: 200, total_tokens: 300 },
    exact_input: true,
    cost: { currency: 'USD', amount: '0.5', list_amount: '1' },
    quota: { fits: true, reasons: [], limits: [], budgets: [] },
  };

  it('estimates the requests of a table, and stores and changes nothing', async () => {
    const total = 2;
    server.behavior.before = () =>
      Response.json({ ...estimate, request_counts: { ...estimate.request_counts, total } });
    write('out.csv', 'precious');
    const { code, out } = await ask('--dry-run');
    expect([code, out]).toEqual([0, expect.stringContaining('0.5 USD (1 without a batch)')]);
    expect(server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(['POST /v1/batches']);
    expect(files()).toEqual(['out.csv', 'r.csv']);
    expect(read('out.csv')).toBe('precious');
  });

  it('extrapolates from a part of a large file', async () => {
    const line = (id: number) =>
      `{"custom_id":"${id}","method":"POST","url":"/v1/chat/completions","body":{}}\n`;
    write('big.jsonl', Array.from({ length: 200_000 }, (_, id) => line(id)).join(''));
    server.behavior.before = () => Response.json(estimate);
    const { out } = await cli('big.jsonl', '--dry-run', '--json');
    expect(server.requests).toHaveLength(10);
    expect(JSON.parse(out)).toMatchObject({
      request_counts: { total: 200_000 },
      usage: { input_tokens: 2000, output_tokens: 4000 },
      cost: { amount: '10', list_amount: '20' },
      exact_input: false,
    });
  });

  it('quotes each window for all requests of a large file', async () => {
    const line = (id: number) =>
      `{"custom_id":"${id}","method":"POST","url":"/v1/chat/completions","body":{}}\n`;
    write('big.jsonl', Array.from({ length: 20_000 }, (_, id) => line(id)).join(''));
    // The clock of these tests stands at 08:00.
    const eta = '2027-01-15T08:40:00Z';
    const quote = { cost: estimate.cost, can_be_met: true, eta, tokens_ahead: 0 };
    server.behavior.before = () =>
      Response.json({
        ...estimate,
        completion_window: '1h',
        forecast: { eta, tokens_ahead: 0, at_risk: false, waiting: null },
        windows: [
          { ...quote, completion_window: '10m', can_be_met: false },
          { ...quote, completion_window: '1h' },
          { ...quote, completion_window: '2h' },
          { ...quote, completion_window: '24h', can_be_met: null, eta: null },
        ],
      });
    const { out } = await cli('big.jsonl', '--dry-run', '--window', '1h');
    const cost = '1 USD, ';
    expect(out).toContain('expected  2027-01-15T09:20:00Z, after it expires\n');
    expect(out.split('\n').filter((row) => row.startsWith('in '))).toEqual([
      `in 10m    ${cost}cannot be met: not done before 2027-01-15T09:20:00Z`,
      `in 1h     ${cost}cannot be met: not done before 2027-01-15T09:20:00Z`,
      `in 2h     ${cost}expected at 2027-01-15T09:20:00Z`,
      `in 24h    ${cost}unknown whether it can be met`,
    ]);
  });
});

describe('rows that cannot be asked', () => {
  const bad = 'id,review\na,good\na,bad\n,x\nd,\ne,f,g\n';

  it('are reported before anything is sent', async () => {
    write('r.csv', bad);
    const { code, err } = await cli(
      'r.csv',
      '--prompt',
      '{{ review }}',
      '--id-column',
      'id',
      '--model',
      'm',
      '-o',
      'o.csv',
    );
    expect([code, err]).toEqual([
      1,
      `Error: 4 rows of r.csv cannot be asked.
  row 2: an earlier row has the same id, 'a'
  row 3: id is empty
  row 4: the prompt is empty
  row 5: the row has 3 cells, but 2 columns
Nothing was sent. Correct them, or leave them out with --skip-bad.
`,
    ]);
    expect(server.requests).toEqual([]);
    expect(files()).toEqual(['r.csv']);
  });

  it('are left out with --skip-bad, and written to a file', async () => {
    write('r.csv', bad);
    const argv = [
      '--prompt',
      '{{ review }}',
      '--id-column',
      'id',
      '--model',
      'm',
      '-o',
      'o.csv',
      '--skip-bad',
    ];
    expect((await cli('r.csv', ...argv)).code).toBe(0);
    expect(read('o.csv').split('\r\n').slice(1)).toEqual(['a,good,answer to a,,,,,', '']);
    const skipped = read('o.skipped.jsonl').trimEnd().split('\n');
    expect(skipped.map((line) => (JSON.parse(line) as { row: number }).row)).toEqual([2, 3, 4, 5]);
    expect(JSON.parse(skipped[2]!)).toEqual({
      row: 4,
      reason: 'the prompt is empty',
      values: { id: 'd', review: '' },
    });
  });

  it('are found by the rules of the server', async () => {
    const { err } = await ask('--set', 'temperature=9');
    expect(err).toContain('row 1: body.temperature: ');
  });
});

describe('a table that cannot be used', () => {
  it.each([
    [['r.csv'], 'r.csv is a table: its columns are id, review.\nSay what to ask for each row'],
    [['r.csv', '--prompt', '{{ review }}'], '--model is missing.'],
    [
      ['r.csv', '--prompt', '{{ x }}', '--model', 'm'],
      "--prompt names the column 'x', which r.csv does not have",
    ],
    [['r.csv', '--prompt', 'p', '--id-column', 'ID', '--model', 'm'], "--id-column names the column 'ID'"],
    [
      ['l.jsonl', '--prompt', '{{ x }}', '--model', 'm'],
      "--prompt names the column 'x', which l.jsonl does not have",
    ],
    [['empty.csv', '--prompt', 'p', '--model', 'm'], 'empty.csv is empty.'],
    [['head.csv', '--prompt', 'p', '--model', 'm'], 'head.csv has no rows to ask for.'],
    [
      ['r.csv', '--prompt', '@none.txt', '--model', 'm'],
      '--prompt names the file none.txt, which cannot be read.',
    ],
    [
      ['r.csv', '--prompt', 'p', '--model', 'm', '--endpoint', '/v1/x'],
      '--endpoint /v1/x takes no --prompt.',
    ],
  ])('%j', async (argv, message) => {
    write('l.jsonl', '{"a":1}\n');
    write('empty.csv', '');
    write('head.csv', 'a,b\n');
    const before = files();
    const { code, err } = await cli(...argv);
    expect([code, err]).toEqual([1, expect.stringContaining(`Error: ${message}`)]);
    expect(server.requests).toEqual([]);
    expect(files()).toEqual(before);
  });
});

describe('an interrupted run of a table', () => {
  it('ends while a Parquet file is read, without a request', async () => {
    copyFileSync(new URL('tables/arrow-snappy.parquet', import.meta.url), join(cwd, 'r.parquet'));
    const argv = ['batch', 'run', 'r.parquet', '--prompt', '{{ s }}.', '--model', 'm', '-o', 'out.parquet'];
    const { code, err } = await runCli(argv, { server, cwd, interrupt: 1 });
    expect([code, err]).toEqual([130, expect.stringContaining('Nothing was sent.')]);
    expect([server.files.size, files()]).toEqual([0, ['r.csv', 'r.parquet']]);
  });

  const rows = Array.from({ length: 10_005 }, (_, row) => `${row},text ${row}\n`).join('');

  it('resumes its batches and answers every row', async () => {
    write('r.csv', `id,review\n${rows}`);
    server.behavior.polls = 3;
    const argv = ['batch', 'run', 'r.csv', '--prompt', '{{ review }}', '--model', 'm', '-o', 'out.csv'];
    expect((await runCli(argv, { server, cwd, interrupt: duringWait })).code).toBe(130);
    expect(existsSync(join(cwd, 'out.csv.offpeak.json'))).toBe(true);
    const { code, err } = await runCli(argv, { server, cwd });
    expect([code, err]).toEqual([0, expect.stringContaining('Resuming batch_1')]);
    expect([server.files.size, server.batches.size]).toEqual([2, 2]);
    const lines = read('out.csv').split('\r\n');
    expect(lines).toHaveLength(10_007);
    expect(lines[10_005]).toBe('10004,text 10004,answer to row-10005,,,,,');
    expect(files()).toEqual(['out.csv', 'r.csv']);
  });

  it('refuses another prompt, and lost work files', async () => {
    server.behavior.polls = 1000;
    const argv = ['batch', 'run', 'r.csv', '--prompt', '{{ review }}', '--model', 'm', '-o', 'out.csv'];
    await runCli(argv, { server, cwd, interrupt: duringWait });
    expect((await ask()).err).toContain('belongs to a run of another input, or with other options');
    rmSync(join(cwd, 'out.csv.offpeak.work'));
    expect((await runCli(argv, { server, cwd })).err).toContain('out.csv.offpeak.work, which contained');
  });
});

describe('batch retry --model', () => {
  it('runs only the failed requests, unchanged but for their model', async () => {
    server.behavior.answer = (id) => (id === 'row-1' ? succeeded(id) : failed(id));
    write('r.csv', 'review\ngood\nbad\nugly\n');
    await ask('--priority', '7', '-m', 'team=search');
    const retry = (...more: string[]) => runCli(['batch', 'retry', 'batch_1', ...more], { server, cwd });
    expect((await retry('--model', 'large', '--code', 'other')).err).toContain(
      'has no failed requests with these codes',
    );
    expect((await retry('--model', 'large')).code).toBe(0);
    const before = uploaded().slice(0, 3);
    expect(uploaded().slice(3)).toEqual(
      before.slice(1).map((line) => ({ ...line, body: { ...line.body, model: 'large' } })),
    );
    expect(server.batches.get('batch_2')!.batch).toMatchObject({
      priority: 7,
      metadata: { team: 'search', retry_of: 'batch_1' },
    });
  });

  it('waits for the end of the batch', async () => {
    server.behavior.polls = 1000;
    const argv = ['batch', 'run', 'r.csv', '--prompt', '{{ review }}', '--model', 'm', '-o', 'out.csv'];
    await runCli(argv, { server, cwd, interrupt: duringWait });
    const { code, err } = await runCli(['batch', 'retry', 'batch_1', '--model', 'x'], { server, cwd });
    expect([code, err]).toEqual([1, expect.stringContaining('batch_1 has not ended.')]);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chatLine } from '../server/support/jsonl.ts';
import { type RunningServer, startServer } from '../server/support/start-server.ts';
import { until } from '../support/until.ts';
import { runCli } from './support/run-cli.ts';

let app: RunningServer;
let batch: string;

const cli = (...argv: string[]) => runCli([...argv, '--url', app.url, '--key', app.keys.a], { fetch });
const admin = (...argv: string[]) =>
  runCli(['admin', ...argv, '--url', app.url, '--key', app.keys.admin], { fetch });
const rows = (out: string) =>
  out
    .trimEnd()
    .split('\n')
    .map((row) => row.split('\t'));

beforeAll(async () => {
  app = await startServer();
  const contents = ['apple', `${Math.random()} [[fail 400]] pear`, 'plum'];
  const requests = contents.map((content, n) => chatLine(n, 'tiny', content));
  const json = { endpoint: '/v1/chat/completions', completion_window: '24h', requests };
  batch = (await app.call('POST', '/v1/batches', { json })).json.id;
  await until('the batch ends', async () => {
    return (await app.call('GET', `/v1/batches/${batch}`)).json.status === 'completed';
  });
});
afterAll(() => app.stop());

describe('offpeak batch lines', () => {
  it('lists lines, and follows the pages of a search', async () => {
    const { out } = await cli('batch', 'lines', batch);
    expect(rows(out).map(([line, id, state, code]) => [line, id, state, code])).toEqual([
      ['1', 'c0', 'completed', ''],
      ['2', 'c1', 'failed', 'request_refused'],
      ['3', 'c2', 'completed', ''],
    ]);
    expect(rows((await cli('batch', 'lines', batch, '--text', 'PLUM')).out)).toHaveLength(1);
    expect(rows((await cli('batch', 'lines', batch, '-n', '2')).out)).toHaveLength(2);
    expect(rows((await cli('batch', 'lines', batch, '--sample', '1', '--seed', '3')).out)).toHaveLength(1);
    expect(await cli('batch', 'lines', batch, '--state', 'lost')).toMatchObject({
      code: 1,
      err: expect.stringContaining('state: expected one of'),
    });
  });

  it('shows one line with its texts', async () => {
    const { out } = await cli('batch', 'line', batch, 'c0');
    expect(out).toMatch(/line +1\n[^]*request .*apple[^]*answer /);
    expect((await cli('batch', 'line', batch, '9')).err).toContain('No such line.');
  });

  it('shows operators the servers and no texts', async () => {
    const { out } = await admin('batches', 'lines', batch);
    expect(rows(out)[0]!.at(-1)).not.toBe('');
    expect(out).not.toContain('apple');
    expect((await admin('batches', 'line', batch, '1')).out).not.toContain('apple');
    expect((await admin('batches', 'lines', batch, '--text', 'apple')).code).toBe(1);
  });
});

describe('offpeak batch act', () => {
  it('counts, asks for --yes in a pipe, and acts', async () => {
    const all = ['batch', 'act', 'retry', '--all', '--search', batch];
    expect((await cli(...all, '--dry-run')).out).toBe('retry: 1 of 1 batch, with 1 request\n');
    const asked = await cli(...all);
    expect([asked.code, asked.err]).toEqual([1, expect.stringContaining('Pass --yes.')]);
    const done = await cli(...all, '--yes', '--json');
    expect(JSON.parse(done.out)).toMatchObject({ status: 'completed', total: 1, done: 1 });
    expect((await cli('batch', 'act', 'pause')).err).toContain('--all');
    expect((await cli('batch', 'act', 'pause', batch, '--all')).err).toContain('not both');
    const operator = await admin('batches', 'act', 'cancel', batch, '--yes');
    expect(operator.out).toMatch(/completed\ndone +0 of 1\nskipped +1\n/);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningServer, startServer } from '../server/support/start-server.ts';
import { runCli } from './support/run-cli.ts';

let app: RunningServer;
let batch: string;

const admin = (...argv: string[]) =>
  runCli(['admin', ...argv, '--url', app.url, '--key', app.keys.admin], { fetch });
const shown = async (...argv: string[]) => {
  const { code, out, err } = await admin(...argv);
  expect([code, err]).toEqual([0, '']);
  return out
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'));
};

beforeAll(async () => {
  app = await startServer();
  await admin('pause', '--org', 'default');
  const line = { custom_id: 'a', method: 'POST', url: '/v1/chat/completions' };
  const body = { model: 'tiny', messages: [{ role: 'user', content: 'Hello?' }] };
  const json = {
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
    requests: [{ ...line, body }],
  };
  batch = (await app.call('POST', '/v1/batches', { json })).json.id;
});
afterAll(() => app.stop());

describe('offpeak admin', () => {
  it('pauses, lists the pauses and resumes', async () => {
    expect(await shown('pauses')).toEqual([
      ['all', 'default', expect.any(String), expect.stringMatching(/^key_/)],
    ]);
    expect(await shown('pause', '--model', 'default')).toHaveLength(2);
    expect(await shown('resume', '--model', 'tiny')).toHaveLength(1);
    expect(JSON.parse((await admin('pauses', '--json')).out).data).toMatchObject([{ org: 'default' }]);
    expect((await admin('resume', '--org', 'nowhere')).code).toBe(1);
  });

  it('lists and changes batches of all orgs', async () => {
    expect(await shown('batches', 'list', '--waiting', 'paused', '--org', 'default')).toMatchObject([
      [batch, 'default', 'validating', '0/1', '0', 'tiny', '5', expect.any(String), 'paused'],
    ]);
    expect((await admin('batches', 'list', '--at-risk')).out).toBe('');
    expect((await admin('batches', 'update', batch, '--priority', '7')).out).toMatch(
      /priority +7\n[^]*org +default\n/,
    );
    expect((await admin('batches', 'get', batch)).out).toContain('The operator of the server has paused');
    const { code, err } = await admin('batches', 'update', batch, '--priority', '10');
    expect([code, err]).toEqual([1, "Error: --priority must be a whole number from 0 to 9, not '10'.\n"]);
  });

  it('exports batches as JSON lines, oldest first', async () => {
    const { json } = await app.call('POST', '/v1/batches', {
      json: {
        endpoint: '/v1/chat/completions',
        completion_window: '24h',
        requests: [
          {
            custom_id: 'a',
            method: 'POST',
            url: '/v1/chat/completions',
            body: { model: 'tiny', messages: [{ role: 'user', content: 'Bye?' }] },
          },
        ],
      },
    });
    const exported = async (...argv: string[]) =>
      (await admin('batches', 'export', ...argv)).out
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as { id: string; org: string; cost: object });
    const all = await exported();
    expect(all.map(({ id }) => id)).toEqual([batch, json.id]);
    expect(all[0]).toMatchObject({ org: 'default', cost: { currency: 'USD' } });
    expect((await exported('--after', batch)).map(({ id }) => id)).toEqual([json.id]);
    expect(await exported('--created-before', '2000-01-01')).toEqual([]);
    await app.call('POST', `/v1/batches/${json.id}/cancel`);
  });

  it('drains servers, and shows the queue and the last requests', async () => {
    const [[id, ...of]] = (await shown('replicas', 'list')) as [[string, ...string[]]];
    const [model, server] = of;
    expect(await shown('replicas', 'drain', id)).toMatchObject([
      expect.arrayContaining([id, model, server, 'draining']),
    ]);
    expect(await shown('replicas', 'undrain', id)).toMatchObject([
      expect.arrayContaining([id, model, server, 'up']),
    ]);
    const capped = await shown('replicas', 'cap', id, '--max-in-flight', '3');
    expect([capped[0]?.[4], capped[0]?.at(-1)]).toEqual(['0/3', '3']);
    expect((await shown('replicas', 'uncap', id))[0]?.[4]).toBe('0/8');
    const [queue] = await shown('queue');
    expect(queue).toEqual(['tiny', '0', '0', '0s', '-', expect.stringMatching(/^\d+\/\d+$/), '', '', '']);
    const messages = [{ role: 'user', content: 'Hello?' }];
    const { headers } = await app.call('POST', '/v1/chat/completions', { json: { model: 'tiny', messages } });
    expect((await shown('requests', '--org', 'default'))[0]?.slice(0, 6)).toEqual([
      headers.get('x-request-id'),
      expect.any(String),
      'default',
      '/v1/chat/completions',
      'tiny',
      '200',
    ]);
    expect((await admin('requests', '--status', '429')).out).toBe('');
  });

  it('lists the processes', async () => {
    const [row] = await shown('processes');
    expect(row).toEqual([
      expect.stringMatching(/^wrk_/),
      'alive, answers',
      'all',
      'machine-1:7',
      '1.2.3',
      expect.stringMatching(/^20/),
      expect.stringMatching(/^20/),
      expect.any(String),
      '0',
      expect.stringMatching(/^\d \(\d lines\)$/),
      '',
      'tiny org/model:tag vectors',
    ]);
  });

  it('needs an admin key', async () => {
    const { code, err } = await runCli(['admin', 'queue', '--url', app.url], { fetch });
    expect([code, err]).toMatchObject([1, expect.stringContaining('This command needs an admin key.')]);
  });
});

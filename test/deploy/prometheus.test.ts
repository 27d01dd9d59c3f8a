import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, testModel, upstreamEngine, type RunningApp } from '../support/app.ts';
import { chatLine } from '../support/batch-lines.ts';
import { complete, send, startFakeUpstream, type FakeUpstream } from '../support/fake-upstream.ts';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';
import { dashboardQueries, deployFolder, readDashboard, readRules } from './queries.ts';

// The rules and the dashboard in a real Prometheus that scrapes a real server. `monitoring.test.ts` needs no programs.

const rules = join(deployFolder, 'prometheus-rules.yml');

function isInstalled(): boolean {
  try {
    for (const program of ['promtool', 'prometheus'])
      execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const installed = isInstalled();
if (!installed) it.skip('in Prometheus (skipped: "prometheus" and "promtool" are not on the PATH)', () => {});

/** Panels that show nothing while all is well, or until a server has answered much. */
const empty = ['Models that wait', 'Slowdown of interactive requests'];

describe.runIf(installed)('in Prometheus', () => {
  let folder: string;
  let upstream: FakeUpstream;
  let receiver: WebhookReceiver;
  let app: RunningApp;
  let prometheus: Awaited<ReturnType<typeof startPrometheus>>;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'offpeak-prometheus-'));
    upstream = await startFakeUpstream((response, request) => {
      if (request.text.includes('hold')) return;
      if (request.text.includes('bad')) return send(response, 400, { error: { message: 'no' } });
      return complete()(response, request);
    });
    receiver = await startWebhookReceiver();
    const port = await freePort();
    app = await startApp({
      models: [testModel(upstreamEngine(upstream.url, 4))],
      metrics: { host: '127.0.0.1', port, orgs: 5 },
      egress: { allow: ['127.0.0.1'] },
      drainMs: 0,
    });
    await app.api.post('/v1/webhooks', { url: receiver.url });
    const done = await app.api.createBatch({ requests: [chatLine('a'), chatLine('b', 'bad')] });
    await app.api.finished(done.id);
    await app.api.createBatch({ requests: [chatLine('a'), chatLine('b', 'hold'), chatLine('c', 'hold')] });
    const chat = { model: 'tiny', messages: [{ role: 'user', content: 'Hello?' }] };
    await app.api.send('/v1/chat/completions', { json: chat });
    prometheus = await startPrometheus(folder, port);
  });

  afterAll(async () => {
    await prometheus?.stop();
    await app?.stop();
    await receiver?.close();
    await upstream?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('the rules raise their alerts', () => {
    const tests = readFileSync(fileURLToPath(new URL('rules.yml', import.meta.url)), 'utf8');
    const file = join(folder, 'tests.yml');
    writeFileSync(file, `rule_files: [${rules}]\n${tests}`);
    const tested = new Set(tests.match(/(?<=alertname: )\w+/g));
    expect([...tested].toSorted()).toEqual(
      readRules()
        .map(({ alert }) => alert)
        .toSorted(),
    );
    expect(execFileSync('promtool', ['test', 'rules', file], { encoding: 'utf8' })).toContain('SUCCESS');
  });

  it('the rules load and run on the metrics of a server', async () => {
    const health = await until('all rules ran', async () => {
      const { groups } = (await prometheus.get('rules')) as {
        groups: { rules: { name: string; health: string }[] }[];
      };
      const all = groups.flatMap((group) => group.rules);
      return all.length > 0 && all.every((rule) => rule.health !== 'unknown') ? all : undefined;
    });
    expect(health.filter((rule) => rule.health !== 'ok')).toEqual([]);
    expect(health).toHaveLength(readRules().length);
  });

  it.each(dashboardQueries(readDashboard()))('the dashboard has a value: %s', async (title, expr) => {
    const query = async () =>
      (await prometheus.get(`query?query=${encodeURIComponent(expr)}`)) as { result: unknown[] };
    if (empty.includes(title)) expect((await query()).result).toEqual([]);
    else
      await until(title, async () => (await query()).result.length > 0, { everyMs: 200, withinMs: 60_000 });
  });
});

async function startPrometheus(folder: string, metricsPort: number) {
  const port = await freePort();
  const config = join(folder, 'prometheus.yml');
  writeFileSync(
    config,
    `global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: [${rules}]
scrape_configs:
  - job_name: offpeak
    static_configs: [{ targets: ['127.0.0.1:${metricsPort}'] }]
`,
  );
  const flags = [
    `--config.file=${config}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  // The shell kills the server when its standard input closes, which happens however this process ends.
  const script = '"$0" "$@" & server=$!; cat > /dev/null; kill -KILL $server';
  const shell = spawn('sh', ['-c', script, 'prometheus', ...flags], { stdio: ['pipe', 'ignore', 'ignore'] });
  const url = `http://127.0.0.1:${port}`;
  await until(
    'Prometheus is ready',
    () =>
      fetch(`${url}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      ),
    {
      everyMs: 50,
    },
  );
  return {
    /** Returns the data of an API call; fails with the message of Prometheus. */
    async get(path: string): Promise<unknown> {
      const answer = (await (await fetch(`${url}/api/v1/${path}`)).json()) as {
        status: string;
        data: unknown;
      };
      expect(answer).toMatchObject({ status: 'success' });
      return answer.data;
    },
    async stop() {
      const exited = once(shell, 'exit');
      shell.stdin.end();
      await exited;
    },
  };
}

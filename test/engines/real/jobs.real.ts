import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chatLines, endings } from '../../support/batch-lines.ts';
import { installPython, pythonIn } from '../../support/install-packages.ts';
import { type RayCluster, startRayCluster } from '../../support/jobs/ray-cluster.ts';
import { install, type Installation, type ServerProcess } from '../../support/server-process.ts';
import { until } from '../../support/until.ts';

// The documented script on a Ray cluster of two nodes, of which one dies twice, as Offpeak does.

const root = fileURLToPath(new URL('../../..', import.meta.url));
const cache = join(root, 'node_modules/.cache/offpeak-engines/ray');
const installed = await installPython(cache, ['ray[default,data]==2.60.0'], '2026-11-28');
if ('missing' in installed) console.warn(`SKIPPED: not tested with Ray: ${installed.missing}`);
const { folder: environment } = installed as { folder: string };
const lines = 10_000;

/** The script of the page, with scripted answers. */
function writeScripts(folder: string): void {
  const page = readFileSync(join(root, 'docs/engines/ray.md'), 'utf8');
  const script = /```python\n(""".*?)```/s.exec(page)![1]!;
  writeFileSync(join(folder, 'batch.py'), script);
  copyFileSync(join(root, 'test/support/jobs/scripted_model.py'), join(folder, 'model.py'));
}

describe.skipIf('missing' in installed)('Offpeak with jobs of a Ray cluster', () => {
  let folder: string;
  let cluster: RayCluster;
  let installation: Installation;
  let server: ServerProcess;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'offpeak-ray-'));
    writeScripts(folder);
    cluster = await startRayCluster(environment);
    installation = install(`models:
  - id: tiny
    aliases: [default]
    price: { input: 0.10, output: 0.40 }
    engine:
      kind: job
      run: ray
      address: ${cluster.address}
      entrypoint: ${pythonIn(environment)} ${folder}/batch.py
      runtime_env: { env_vars: { PYTHONPATH: "${folder}", COPIES: "2" } }
      lines: 5000
      wait: 5s
      poll: 1s
`);
    server = await installation.start();
  });

  afterAll(async () => {
    await installation?.remove();
    cluster?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const completed = async (id: string) => (await server.api.batch(id)).request_counts.completed;
  const reaches = (id: string, count: number) =>
    until(`${count} lines`, async () => (await completed(id)) >= count, { withinMs: 800_000, everyMs: 500 });

  it('answers and bills every line once, while a node and Offpeak are killed', async () => {
    const second = await cluster.addNode();
    const file = await server.api.upload(chatLines(lines));
    const { id } = await server.api.createBatch(file.id);
    await reaches(id, 1_000);
    second.kill();
    const third = await cluster.addNode();
    await reaches(id, 3_000);
    await server.end('SIGKILL');
    server = await installation.start();
    await reaches(id, 6_000);
    third.kill();
    await cluster.addNode();
    const batch = await until(
      'the end',
      async () => {
        const now = await server.api.batch(id);
        return now.status === 'completed' && now;
      },
      { withinMs: 800_000, everyMs: 1_000 },
    );
    expect(batch.request_counts).toEqual({ total: lines, completed: lines, failed: 0 });
    const { text } = await server.api.results(id, 'output');
    expect(endings(text, '').distinct.size).toBe(lines);
    expect(text.trim().split('\n')).toHaveLength(lines);
    const { data } = await server.api.get<{ data: { requests: number; input_tokens: number }[] }>(
      '/v1/usage',
    );
    const billed = data.reduce((sum, row) => [sum[0]! + row.requests, sum[1]! + row.input_tokens], [0, 0]);
    expect(billed).toEqual([lines, lines * 10]);
  });
});

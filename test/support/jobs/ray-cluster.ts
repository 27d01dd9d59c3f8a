import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kill } from 'node:process';
import { freePort } from '../free-port.ts';
import { until } from '../until.ts';

/** Ray cluster on this machine, whose nodes are groups of processes. */
export interface RayCluster {
  /** Address of the dashboard and its Jobs API. */
  address: string;
  /** Starts a node with one CPU. */
  addNode(): Promise<RayNode>;
  stop(): void;
}

export interface RayNode {
  /** Ends all its processes with SIGKILL. */
  kill(): void;
}

/** Memory of a node for objects. */
const objectBytes = 200_000_000;

/** @param folder virtual environment with Ray */
export async function startRayCluster(folder: string): Promise<RayCluster> {
  // Short, because sockets in it have paths of at most 107 bytes.
  const temporary = mkdtempSync(join(tmpdir(), 'ray-'));
  const groups = new Set<number>();

  async function start(...options: string[]): Promise<RayNode> {
    // Ray refuses a port of its own in the range of the workers.
    const ports = ['--min-worker-port=0', '--max-worker-port=0'];
    const size = ['--num-cpus=1', `--object-store-memory=${objectBytes}`, '--disable-usage-stats'];
    const child = spawn(join(folder, 'bin', 'ray'), ['start', ...options, ...size, ...ports], {
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const group = child.pid!;
    groups.add(group);
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
    const code = await new Promise((resolve) => child.once('exit', resolve));
    // Its daemons have the other end.
    child.stderr.destroy();
    if (code !== 0) throw new Error(`ray start exited with status ${String(code)}: ${errors.slice(-500)}`);
    return { kill: () => end(group) };
  }

  function end(group: number): void {
    groups.delete(group);
    try {
      kill(-group, 'SIGKILL');
    } catch {
      // All its processes have ended.
    }
  }

  const [port, dashboard] = [await freePort(), await freePort()];
  const head = ['--head', `--port=${port}`, '--dashboard-host=127.0.0.1', `--dashboard-port=${dashboard}`];
  await start(...head, `--temp-dir=${temporary}`, '--include-dashboard=true');
  const address = `http://127.0.0.1:${dashboard}`;
  await until('the Jobs API answers', async () => {
    const response = await fetch(`${address}/api/jobs/`).catch(() => undefined);
    return response?.ok === true;
  });
  return {
    address,
    addNode: () => start(`--address=127.0.0.1:${port}`),
    stop() {
      for (const group of groups) end(group);
      rmSync(temporary, { recursive: true, force: true });
    },
  };
}

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
  const [port, dashboard] = [await freePort(), await freePort()];
  const groups = new Set<number>();

  async function start(...options: string[]): Promise<RayNode> {
    const size = ['--num-cpus=1', `--object-store-memory=${objectBytes}`, '--disable-usage-stats'];
    const child = spawn(join(folder, 'bin', 'ray'), ['start', ...options, ...size], {
      detached: true,
      stdio: 'ignore',
    });
    const group = child.pid!;
    groups.add(group);
    const code = await new Promise((resolve) => child.once('exit', resolve));
    if (code !== 0) throw new Error(`ray start exited with status ${String(code)}`);
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

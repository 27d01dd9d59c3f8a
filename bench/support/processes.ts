import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/**
 * Cores: the measured process has core 0; load and upstream share core 1. On a single core, without taskset or with
 * --unbound, no process is bound.
 */
export type Core = 'target' | 'rest';

const unbound = process.argv.includes('--unbound');
export const canBind = !unbound && availableParallelism() > 1 && works('taskset', ['--version']);

function works(command: string, values: string[]): boolean {
  try {
    execFileSync(command, values, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

/**
 * Starts a process on its core. Its standard error goes to ours or to the file `log`. `ipc` adds an IPC channel, `env`
 * further variables.
 */
export function start(
  core: Core,
  command: string,
  values: string[],
  { ipc = false, log, env = {} }: { ipc?: boolean; log?: string; env?: NodeJS.ProcessEnv } = {},
): ChildProcess {
  const stderr = log === undefined ? 'inherit' : openSync(log, 'a');
  const bound = canBind
    ? ['taskset', '-c', core === 'target' ? '0' : '1', command, ...values]
    : [command, ...values];
  const [first = command, ...rest] = bound;
  const child = spawn(first, rest, {
    stdio: ['pipe', 'pipe', stderr, ...(ipc ? (['ipc'] as const) : [])],
    env: { ...process.env, NODE_ENV: 'production', ...env },
  });
  if (typeof stderr === 'number') closeSync(stderr);
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/** Binds this process, which generates the load, to core 1. */
export function bindSelf(): void {
  if (canBind) execFileSync('taskset', ['-a', '-c', '-p', '1', String(process.pid)], { stdio: 'ignore' });
}

/** Resolves to the first line that a process prints. Rejects when it exits without one. */
export function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.on('data', (part: Buffer) => {
      text += part.toString();
      const end = text.indexOf('\n');
      if (end >= 0) resolve(text.slice(0, end));
    });
    child.once('exit', (code) => reject(new Error(`${child.spawnargs.join(' ')} ended with ${code}`)));
  });
}

export async function stop(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await ended;
}

/** Load average, reported because other work on the machine makes all figures worse. */
export function loadAverage(): number {
  try {
    return Number(readFileSync('/proc/loadavg', 'utf8').split(' ')[0]);
  } catch {
    return Number.NaN;
  }
}

/** CPU time of a process with its threads, in milliseconds with a resolution of 10. */
export function readCpuMs({ pid }: Pick<ChildProcess, 'pid'>): number {
  const fields = readStat(pid ?? 0);
  return fields ? (Number(fields[11]) + Number(fields[12])) * 10 : Number.NaN;
}

/** CPU time of a process and its running children, in milliseconds. */
export function readTreeCpuMs({ pid = 0 }: Pick<ChildProcess, 'pid'>): number {
  const children = readdirSync('/proc').filter(
    (name) => /^\d+$/.test(name) && readStat(Number(name))?.[1] === `${pid}`,
  );
  return children.reduce((sum, child) => sum + readCpuMs({ pid: Number(child) }), readCpuMs({ pid }));
}

/** Fields of /proc/<pid>/stat from the state on. */
function readStat(pid: number): string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ');
  } catch {
    return undefined;
  }
}

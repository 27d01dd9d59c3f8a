import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const launcher = fileURLToPath(new URL('../../../tools/install.mjs', import.meta.url));
const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
  out: string;
  err: string;
}

export interface RunningProcess {
  child: ChildProcess;
  exit: Promise<Exit>;
  /** Resolves to the first past or future output line that matches. Rejects when the process ends without one. */
  line(pattern: RegExp): Promise<string>;
}

/** Folder with a server configuration that needs no model, and the processes started there. */
export interface Workspace {
  folder: string;
  start(argv: string[], env?: Record<string, string>): RunningProcess;
  /** Starts the server through the launcher, as `bin/offpeak` and the npm scripts do. */
  launch(argv: string[]): RunningProcess;
  run(argv: string[], env?: Record<string, string>): Promise<Exit>;
  /** @param stderr file descriptor for its log; default: captured here */
  serve(more?: string[], stderr?: number): Promise<Server>;
  write(name: string, text: string): void;
  read(name: string): string;
  remove(): Promise<void>;
}

export interface Server extends RunningProcess {
  ready: ReadyLine;
  /** Environment of client commands. */
  env: Record<string, string>;
}

export interface ReadyLine {
  url: string;
  models: { id: string }[];
  data: string;
  keys: { key: string; admin_key: string } | null;
}

/** Processes of all workspaces, killed when the tests end. */
const children = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** @param delay of every answer, for example `20ms` */
export function createWorkspace(delay = '1ms'): Workspace {
  const folder = mkdtempSync(join(tmpdir(), 'offpeak-process-'));
  const running = new Set<RunningProcess>();
  const clean = Object.entries(process.env).filter(([name]) => !name.startsWith('OFFPEAK_'));

  function start(
    argv: string[],
    env: Record<string, string> = {},
    files = [main],
    stderr: number | 'pipe' = 'pipe',
  ): RunningProcess {
    const child = spawn(process.execPath, [...files, ...argv], {
      cwd: folder,
      env: { ...Object.fromEntries(clean), ...env },
      stdio: ['ignore', 'pipe', stderr],
    });
    const seen = { out: '', err: '' };
    child.stdout!.setEncoding('utf8').on('data', (text: string) => (seen.out += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (seen.err += text));
    const exit = once(child, 'close').then(([code, signal]) => ({
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
      ...seen,
    }));
    const readers = [child.stdout, child.stderr].flatMap((input) =>
      input ? createInterface({ input }) : [],
    );
    const told: string[] = [];
    for (const reader of readers) reader.on('line', (line) => told.push(line));
    const one: RunningProcess = {
      child,
      exit,
      line: (pattern) =>
        new Promise((resolve, reject) => {
          const known = told.find((line) => pattern.test(line));
          if (known !== undefined) return resolve(known);
          for (const reader of readers) reader.on('line', (line) => pattern.test(line) && resolve(line));
          void exit.then(({ err }) => reject(new Error(`ended without ${String(pattern)}: ${err}`)));
        }),
    };
    running.add(one);
    children.add(child);
    child.once('close', () => children.delete(child));
    return one;
  }

  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  write(
    'offpeak.yaml',
    `models:\n  - id: m\n    aliases: [default]\n    engine: { kind: scripted, slots: 4, delay: ${delay} }\n`,
  );

  return {
    folder,
    start,
    launch: (argv) => start(argv, {}, [launcher, main]),
    write,
    read: (name) => readFileSync(join(folder, name), 'utf8'),
    run: (argv, env) => start(argv, env).exit,
    async serve(more = [], stderr) {
      const flags = ['serve', '--port', '0', '--json', '--log-level', 'silent', ...more];
      const one = start(flags, {}, [main], stderr);
      const ready = JSON.parse(await one.line(/^\{"url"/)) as ReadyLine;
      return { ...one, ready, env: { OFFPEAK_URL: ready.url, OFFPEAK_API_KEY: ready.keys?.key ?? '' } };
    },
    async remove() {
      for (const { child } of running) child.kill('SIGKILL');
      await Promise.all([...running].map(({ exit }) => exit));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Returns JSONL with requests for the scripted engine. */
export function requests(count: number): string {
  return Array.from({ length: count }, (_, i) => {
    const body = { model: 'm', messages: [{ role: 'user', content: `number ${i}` }] };
    return `${JSON.stringify({ custom_id: `c${i}`, method: 'POST', url: '/v1/chat/completions', body })}\n`;
  }).join('');
}

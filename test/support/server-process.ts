import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createApi } from './api.ts';
import type { Api } from './api.ts';

export const processKey = 'test-key-0123456789-abcdefghijklmnop';
export const adminKey = 'test-admin-0123456789-abcdefghijklmnop';
const checkout = new URL('../../', import.meta.url);

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** Output and exit status of a process. */
export interface ProcessOutput extends Exit {
  stdout: string;
  stderr: string;
}

/** Running server process. */
export interface ServerProcess {
  url: string;
  api: Api;
  pid: number;
  /** Keys that this start created and printed. */
  firstKeys: { key: string | null; admin_key: string | null } | null;
  /** Milliseconds from the spawn until the process reported that it is ready. */
  readyMs: number;
  /** Standard error so far. */
  stderr(): string;
  exited: Promise<Exit>;
  /** Sends a signal and resolves when the process has exited. */
  end(signal: NodeJS.Signals): Promise<Exit>;
  signal(signal: NodeJS.Signals): void;
}

/** Data folder with its configuration, on which servers start one after the other. */
export interface Installation {
  folder: string;
  data: string;
  start(options?: { env?: Record<string, string>; flags?: string[] }): Promise<ServerProcess>;
  /** Starts a server that is expected to exit by itself, and waits for that. */
  runToExit(options?: { env?: Record<string, string>; flags?: string[] }): Promise<ProcessOutput>;
  /** Replaces the configuration for later starts. */
  configure(yaml: string): void;
  /** Kills running servers and removes the folder. */
  remove(): Promise<void>;
}

/** Returns the usual configuration: one scripted model with a short delay. */
export function scriptedYaml({ slots = 16, delay = '5ms', more = '' } = {}): string {
  return `models:
  - id: tiny
    aliases: [default]
    engine: { kind: scripted, slots: ${slots}, delay: ${delay} }
    price: { input: 0.10, cached_input: 0.025, output: 0.40 }
${more}`;
}

/** Returns a configuration with one upstream; `engine` adds fields to its engine. */
export function upstreamYaml(url: string, { slots = 16, engine = '', more = '' } = {}): string {
  return `models:
  - id: tiny
    aliases: [default]
    engine: { kind: openai, flavor: openai, url: "${url}", model: real-name, slots: ${slots}${engine} }
    serves: [chat]
    price: { input: 0.10, cached_input: 0.025, output: 0.40 }
${more}`;
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/**
 * Creates an installation. Each server is spawned directly, without a launcher, so that signals reach it.
 * @param root checkout whose sources run
 */
export function install(yaml: string, root = checkout): Installation {
  const folder = mkdtempSync(join(tmpdir(), 'offpeak-process-'));
  const data = join(folder, 'data');
  const config = join(folder, 'offpeak.yaml');
  const own = new Set<ChildProcess>();
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(config, yaml);

  function launch(flags: string[], env: Record<string, string> = {}) {
    const server = ['serve', '--json', '--port', '0', '--data', data, '--config', config];
    const child = spawn(
      process.execPath,
      [
        '--import',
        new URL('test/support/exit-with-parent.ts', root).href,
        '--import',
        new URL('test/support/scripted/install.ts', root).href,
        fileURLToPath(new URL('src/main.ts', root)),
        ...server,
        '--log-level',
        'warn',
        ...flags,
      ],
      {
        cwd: folder,
        env: { PATH: process.env.PATH, OFFPEAK_API_KEY: processKey, OFFPEAK_ADMIN_KEY: adminKey, ...env },
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      },
    );
    running.add(child);
    own.add(child);
    const written = { stdout: '', stderr: '' };
    child.stdout!.setEncoding('utf8').on('data', (text: string) => (written.stdout += text));
    child.stderr!.setEncoding('utf8').on('data', (text: string) => (written.stderr += text));
    const exited = new Promise<Exit>((resolve) => {
      child.once('close', (code, signal) => {
        running.delete(child);
        own.delete(child);
        resolve({ code, signal });
      });
    });
    return { child, written, exited };
  }

  return {
    folder,
    data,
    configure: (text) => writeFileSync(config, text),

    async start({ flags = [], env } = {}) {
      const began = performance.now();
      const { child, written, exited } = launch(flags, env);
      const ready = await Promise.race([
        new Promise<string>((resolve) => {
          child.stdout!.on('data', () => {
            const end = written.stdout.indexOf('\n');
            if (end >= 0) resolve(written.stdout.slice(0, end));
          });
        }),
        exited.then(({ code, signal }): never => {
          throw new Error(`the server ended with ${code ?? signal} before it was ready:\n${written.stderr}`);
        }),
      ]);
      const readyMs = performance.now() - began;
      const {
        url,
        pid,
        keys: firstKeys,
      } = JSON.parse(ready) as {
        url: string;
        pid: number;
        keys: ServerProcess['firstKeys'];
      };
      return {
        url,
        pid,
        firstKeys,
        readyMs,
        api: createApi(url, processKey),
        stderr: () => written.stderr,
        exited,
        signal: (signal) => void child.kill(signal),
        end(signal) {
          child.kill(signal);
          return exited;
        },
      };
    },

    async runToExit({ env, flags = [] } = {}) {
      const { written, exited } = launch(flags, env);
      return { ...(await exited), ...written };
    },

    async remove() {
      const ending = [...own].map((child) => new Promise((resolve) => child.once('close', resolve)));
      for (const child of own) child.kill('SIGKILL');
      await Promise.all(ending);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

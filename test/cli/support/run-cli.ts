import { PassThrough } from 'node:stream';
import type { Clock } from '../../../src/base/clock.ts';
import { run } from '../../../src/cli/run.ts';
import { createTerminal } from '../../../src/cli/terminal/terminal.ts';
import type { Cli } from '../../../src/cli/shared/cli.ts';
import type { Fetch } from '../../../src/client/transport.ts';
import type { FakeServer } from './fake-server.ts';

/** Clock whose timers fire at once and advance its time. */
function createInstantClock(): Clock {
  let time = 1_800_000_000_000;
  return {
    now: () => time,
    monotonic: () => time,
    arrival: () => time,
    after(ms, fn) {
      const pending = setImmediate(() => {
        time += ms;
        fn();
      });
      return { cancel: () => clearImmediate(pending) };
    },
  };
}

export interface CliRun {
  server?: FakeServer;
  fetch?: Fetch;
  cwd?: string;
  env?: Record<string, string>;
  stdin?: string;
  /** True if stdout and stderr are a terminal. */
  tty?: boolean;
  /** Number of the Ctrl-C listener after whose registration Ctrl-C is pressed; 1 is the first. */
  interrupt?: number;
}

export interface CliOutcome {
  code: number;
  out: string;
  err: string;
}

/** Ctrl-C listeners of `batch run`, counted from 1: the first one is for reading the input. */
export const duringUpload = 2;
export const duringWait = 3;

let draws = 0;

/** Returns a CLI without network and output. */
export function silentCli(): Cli {
  const nothing = () => new PassThrough().resume();
  return {
    terminal: createTerminal({ stdin: nothing(), stdout: nothing(), stderr: nothing() }),
    fetch: () => Promise.reject(new TypeError('fetch failed')),
    clock: createInstantClock(),
    random: { bytes: (n) => new Uint8Array(n).fill(++draws), float: () => 0 },
    onInterrupt: () => () => {},
    env: {},
    cwd: '/nowhere',
    exitCode: 0,
  };
}

/** Runs one CLI command in this process. */
export async function runCli(argv: string[], options: CliRun = {}): Promise<CliOutcome> {
  const { server, cwd = '/nowhere', tty = false } = options;
  const stdin = Object.assign(new PassThrough(), { isTTY: tty });
  stdin.end(options.stdin ?? '');
  const stdout = Object.assign(new PassThrough(), { isTTY: tty });
  const stderr = Object.assign(new PassThrough(), { isTTY: tty, columns: 100 });
  const seen = { out: '', err: '' };
  stdout.setEncoding('utf8').on('data', (text: string) => (seen.out += text));
  stderr.setEncoding('utf8').on('data', (text: string) => (seen.err += text));
  let listens = 0;
  const code = await run(argv, {
    ...silentCli(),
    terminal: createTerminal({ stdin, stdout, stderr }),
    fetch: options.fetch ?? server?.fetch ?? (() => Promise.reject(new TypeError('fetch failed'))),
    onInterrupt(handle) {
      if (++listens === options.interrupt) setImmediate(handle);
      return () => {};
    },
    env: { OFFPEAK_URL: server?.url, OFFPEAK_API_KEY: 'key', ...options.env },
    cwd,
  });
  await new Promise(setImmediate);
  return { code, ...seen };
}

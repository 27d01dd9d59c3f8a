import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { Fetch } from '../../client/transport.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { ExitCode } from './exit-codes.ts';

/** What every command works with. */
export interface Cli {
  terminal: Terminal;
  fetch: Fetch;
  clock: Clock;
  random: Random;
  /** Calls `handle` at every Ctrl-C instead of ending the process, until the returned function is called. */
  onInterrupt(handle: () => void): () => void;
  env: Record<string, string | undefined>;
  cwd: string;
  /** Whether this process does nothing else, so that a pause of all of it disturbs nobody. */
  ownsProcess?: boolean;
  /** How the command ended, when it ended without an error. */
  exitCode: ExitCode;
}

/** The options of every command that asks a server. */
export interface ClientOptions {
  url?: string;
  key?: string;
  keyFile?: string;
  json?: boolean;
}

import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { Fetch } from '../../client/transport.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { ExitCode } from './exit-codes.ts';

/** Environment of a command. */
export interface Cli {
  terminal: Terminal;
  fetch: Fetch;
  clock: Clock;
  random: Random;
  /** Handles Ctrl-C until the returned function is called. */
  onInterrupt(handle: () => void): () => void;
  env: Record<string, string | undefined>;
  cwd: string;
  /** True if the process runs nothing else, so that garbage collection pauses do no harm. */
  ownsProcess?: boolean;
  /** True once the command uses the admin key; for hints. */
  usesAdminKey?: boolean;
  /** Exit code of a command that ends without an error. */
  exitCode: ExitCode;
}

/** Options of every command that calls a server. */
export interface ClientOptions {
  url?: string;
  key?: string;
  keyFile?: string;
  json?: boolean;
}

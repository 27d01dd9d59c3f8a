import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

export interface CellsOptions {
  url: string;
  key: string;
  /** JSON for the program's standard input. */
  input?: unknown;
  /** Further environment variables. */
  env?: Record<string, string>;
  /** Time after which a hanging program is killed. */
  limitMs?: number;
}

/** Outcome of each cell of a program: null, or the traceback of its failure. */
export interface CellsResult {
  cells: Map<string, string | null>;
  /** Exit status of the process, for cells that it never reached. */
  end: string;
}

/**
 * Runs a program that prints one line of JSON per cell, in an environment with only the address and the key of
 * Offpeak.
 */
export async function runCells(
  command: string,
  args: string[],
  { url, key, input = null, env: more, limitMs = 100_000 }: CellsOptions,
): Promise<CellsResult> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    OFFPEAK_URL: url,
    OFFPEAK_API_KEY: key,
    NO_PROXY: '*',
    PYTHONDONTWRITEBYTECODE: '1',
    ...more,
  };
  const child = spawn(command, args, { env, timeout: limitMs, killSignal: 'SIGKILL' });
  child.stdin.end(JSON.stringify(input));
  const ended = new Promise<string>((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code, signal) => resolve(`it ended with ${signal ?? code}`));
  });
  const [out, err, end] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  const lines = out.split('\n').filter((line) => line.startsWith('{"name"'));
  const cells = lines.map((line) => JSON.parse(line) as { name: string; error: string | null });
  return { cells: new Map(cells.map(({ name, error }) => [name, error])), end: `${end}\n${err}` };
}

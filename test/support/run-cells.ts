import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

export interface CellsOptions {
  url: string;
  key: string;
  /** Read by the program from its standard input. */
  input?: unknown;
  /** Variables beyond those that say where Offpeak is. */
  env?: Record<string, string>;
  /** Longer than it takes: one that hangs must not hang the tests. */
  limitMs?: number;
}

/** What each cell of a program came to: null, or the traceback of its failure. */
export interface CellsResult {
  cells: Map<string, string | null>;
  /** How the process ended, for the cells that it never reached. */
  end: string;
}

/** Runs a program that prints a line of JSON for each of its cells, in a process that knows nothing but where Offpeak is. */
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
  const told = out.split('\n').filter((line) => line.startsWith('{"name"'));
  const cells = told.map((line) => JSON.parse(line) as { name: string; error: string | null });
  return { cells: new Map(cells.map(({ name, error }) => [name, error])), end: `${end}\n${err}` };
}

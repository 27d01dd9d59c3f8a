import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

export interface ScriptOptions {
  url: string;
  key: string;
  /** Read by the script from its standard input. */
  input?: unknown;
}

/** What each cell of a script came to: null, or the traceback of its failure. */
export interface ScriptResult {
  cells: Map<string, string | null>;
  /** How the process ended, for the cells that it never reached. */
  end: string;
}

/** Longer than any script takes; one that hangs must not hang the tests. */
const limitMs = 100_000;

/** Runs a script of this folder in a process that knows nothing but where Offpeak is. */
export async function runScript(
  python: string,
  script: string,
  { url, key, input = null }: ScriptOptions,
): Promise<ScriptResult> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const env = {
    PATH: process.env['PATH'] ?? '',
    OFFPEAK_URL: url,
    OFFPEAK_API_KEY: key,
    NO_PROXY: '*',
    PYTHONDONTWRITEBYTECODE: '1',
  };
  const child = spawn(python, [path], { env, timeout: limitMs, killSignal: 'SIGKILL' });
  child.stdin.end(JSON.stringify(input));
  const ended = new Promise<string>((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code, signal) => resolve(`it ended with ${signal ?? code}`));
  });
  const [out, err, end] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  const told = out.split('\n').filter((line) => line.startsWith('{'));
  const cells = told.map((line) => JSON.parse(line) as { name: string; error: string | null });
  return { cells: new Map(cells.map(({ name, error }) => [name, error])), end: `${end}\n${err}` };
}

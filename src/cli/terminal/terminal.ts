import { writeSync } from 'node:fs';
import { styleText } from 'node:util';
import { cleanLine } from './clean-text.ts';
import { drawTable } from './table.ts';

/** The streams a command talks through. Tests pass their own. */
export interface Streams {
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  stdout: NodeJS.WritableStream & { isTTY?: boolean; columns?: number };
  stderr: NodeJS.WritableStream & { isTTY?: boolean; columns?: number };
}

type Format = Parameters<typeof styleText>[0];

/** What hints show: how this program is called here, and a file of requests that is there. */
export interface SelfReference {
  command: string;
  example: string;
}

/** Results go to stdout, everything about them to stderr; colour and tables only where a person reads. */
export interface Terminal extends Streams {
  self: SelfReference;
  /** A result line. */
  print(text: string): void;
  /** A remark beside the result. */
  note(text: string): void;
  json(value: unknown): void;
  /** A table as wide as the terminal; in a pipe one line a row with tabs between. Cells are cleaned. */
  table(head: string[], rows: string[][]): void;
  /** Name and value below each other. Values are cleaned. */
  record(pairs: [string, string | null | undefined][]): void;
  /** `text` in a colour, if stdout is a terminal that has any. */
  paint(format: Format, text: string): string;
  /** The same for stderr. */
  paintNote(format: Format, text: string): string;
}

const byName: SelfReference = { command: 'offpeak', example: 'examples/demo.jsonl' };

export function createTerminal({ stdin, stdout, stderr }: Streams, self = byName): Terminal {
  const print = (text: string) => void stdout.write(`${text}\n`);
  const paint = (format: Format, text: string) => styleText(format, text, { stream: stdout });
  return {
    self,
    stdin,
    stdout,
    stderr,
    print,
    paint,
    note: (text) => void stderr.write(`${text}\n`),
    paintNote: (format, text) => styleText(format, text, { stream: stderr }),
    json: (value) => print(JSON.stringify(value)),
    table(head, rows) {
      const clean = rows.map((row) => row.map(cleanLine));
      if (stdout.isTTY !== true) for (const row of clean) print(row.join('\t'));
      else print(drawTable(head, clean, stdout.columns ?? 80, (title) => paint('bold', title)));
    },
    record(pairs) {
      const known = pairs.filter(([, value]) => value !== null && value !== undefined && value !== '');
      const width = Math.max(0, ...known.map(([name]) => name.length));
      for (const [name, value] of known)
        print(`${paint('dim', name.padEnd(width))}  ${cleanLine(value ?? '')}`);
    },
  };
}

type Outputs = Pick<NodeJS.Process, 'stdout' | 'stderr'>;

/** A reader that goes away (`| head`) ends the command, quietly; a full disk ends it as a failure that says so. */
export function exitOnClosedOutput({ stdout, stderr }: Outputs): void {
  for (const stream of [stdout, stderr]) stream.on('error', exitOnWriteError);
}

/** From here on it loses what it says: a server has others to serve, and is not to stop before they are answered. */
export function ignoreClosedOutput({ stdout, stderr }: Outputs): void {
  for (const stream of [stdout, stderr]) stream.off('error', exitOnWriteError).on('error', () => {});
}

function exitOnWriteError(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(0);
  const reason = error.code === 'ENOSPC' ? 'the disk is full' : error.message;
  try {
    writeSync(2, `Error: The output was not written to its end: ${reason}.\n`);
  } finally {
    process.exit(1);
  }
}

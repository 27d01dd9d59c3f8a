import { writeSync } from 'node:fs';
import { styleText } from 'node:util';
import { cleanLine } from './clean-text.ts';
import { drawTable } from './table.ts';

export interface Streams {
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  stdout: NodeJS.WritableStream & { isTTY?: boolean; columns?: number };
  stderr: NodeJS.WritableStream & { isTTY?: boolean; columns?: number };
}

type Format = Parameters<typeof styleText>[0];

/** Texts for hints: the command of this program, and the path of its example requests. */
export interface SelfReference {
  command: string;
  example: string;
}

/** Output of a command: results to stdout, messages to stderr, colors and tables only on a terminal. */
export interface Terminal extends Streams {
  self: SelfReference;
  /** Writes a line to stdout. */
  print(text: string): void;
  /** Writes a message to stderr. */
  note(text: string): void;
  json(value: unknown): void;
  /** Prints a table; in a pipe, tab-separated lines. Control characters are removed. */
  table(head: string[], rows: string[][]): void;
  /** Prints pairs of name and value, one a line. Control characters are removed. */
  record(pairs: [string, string | null | undefined][]): void;
  /** Colors text for stdout, if it supports colors. */
  paint(format: Format, text: string): string;
  /** Colors text for stderr. */
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

/** Ends the command quietly when its reader exits (`| head`), and with an error for any other write error. */
export function exitOnClosedOutput({ stdout, stderr }: Outputs): void {
  for (const stream of [stdout, stderr]) stream.on('error', exitOnWriteError);
}

/** Ignores write errors from now on: a server must keep running without a reader. */
export function ignoreClosedOutput({ stdout, stderr }: Outputs): void {
  for (const stream of [stdout, stderr]) stream.off('error', exitOnWriteError).on('error', () => {});
}

function exitOnWriteError(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(0);
  const reason = error.code === 'ENOSPC' ? 'the disk is full' : error.message;
  try {
    writeSync(2, `Error: The output is incomplete: ${reason}.\n`);
  } finally {
    process.exit(1);
  }
}

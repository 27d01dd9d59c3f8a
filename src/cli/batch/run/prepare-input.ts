import { createReadStream, createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseLine, splitLines } from '../../../base/byte-lines.ts';
import { type Fields, parseOrUndefined } from '../../../base/fields.ts';
import { endpointOfBody, isBareBody } from '../../../wire/batch/bare-body.ts';
import { editMembers, type Edits } from '../../../wire/json/edit-members.ts';
import { findMember, scanJson } from '../../../wire/json/scan.ts';
import { keyValue } from '../../shared/commands.ts';

/** Changes that `batch run` makes to every request. */
export interface Changes {
  endpoint?: string | undefined;
  model?: string | undefined;
  /** `key=value` pairs; the value is JSON, or else a string. */
  set?: readonly string[] | undefined;
  /** Turns bare request bodies into batch lines. */
  wrap?: boolean | undefined;
}

/**
 * Path of the file to upload: the input, or a copy at `copy` for stdin and changed requests. A change keeps all other bytes
 * of a line.
 */
export async function prepareInput(
  input: { path: string } | { stdin: NodeJS.ReadableStream },
  changes: Changes,
  copy: string,
  signal: AbortSignal,
): Promise<string> {
  const change = toChange(changes);
  if ('path' in input && change === undefined) return input.path;
  const source = 'path' in input ? createReadStream(input.path) : Readable.from(input.stdin);
  const target = createWriteStream(copy, { mode: 0o600 });
  if (change === undefined) await pipeline(source, target, { signal });
  else
    await pipeline(source, (chunks: AsyncIterable<Uint8Array>) => changeLines(chunks, change), target, {
      signal,
    });
  return copy;
}

async function* changeLines(chunks: AsyncIterable<Uint8Array>, change: Change): AsyncGenerator<Uint8Array> {
  let number = 0;
  for await (const line of splitLines(chunks)) {
    number++;
    // Invalid JSON is left to the server, which reports the line.
    const request = parseLine(line.bytes);
    yield request
      ? Buffer.from(change(Buffer.from(line.bytes).toString('utf8'), request, number))
      : line.bytes;
    if (line.whole) yield newline;
  }
}

const newline = Buffer.from('\n');
const anySize = { maxDepth: Infinity, maxNodes: Infinity };

export type Change = (line: string, request: Fields, number: number) => string;

/** Change of a line; undefined without changes. */
export function toChange({ endpoint, model, set = [], wrap }: Changes): Change | undefined {
  const body: Edits = new Map(set.map(readSetting));
  if (model !== undefined) body.set('model', JSON.stringify(model));
  if (body.size === 0 && endpoint === undefined && wrap !== true) return undefined;
  return (given, request, number) => {
    const line = wrap === true ? wrapBody(given, request, number) : given;
    const scan = scanJson(line, anySize);
    const edits: Edits = new Map(endpoint === undefined ? [] : [['url', JSON.stringify(endpoint)]]);
    const member = findMember(scan, 'body');
    if (member !== undefined && line[member.start] === '{')
      edits.set('body', editMembers(line.slice(member.start, member.end), body));
    return editMembers(line, edits, scan);
  };
}

/** Wraps a bare request body as a batch line, with the endpoint inferred from its fields. Batch lines are unchanged. */
function wrapBody(line: string, request: Fields, number: number): string {
  if (!isBareBody(request)) return line;
  const { custom_id: own } = request;
  const id = JSON.stringify(own ?? `line-${number}`);
  const body = own === undefined ? line : editMembers(line, new Map([['custom_id', null]]));
  return `{"custom_id":${id},"method":"POST","url":"${endpointOfBody(request)}","body":${body.trim()}}`;
}

/** Fields of `--set`. */
export function readSettings(set: readonly string[] = []): Fields {
  return Object.fromEntries(set.map(readSetting).map(([key, json]) => [key, JSON.parse(json) as unknown]));
}

/** Field and its JSON. */
function readSetting(text: string): [string, string] {
  const [key, value] = keyValue('--set', text);
  return [key, parseOrUndefined(value) === undefined ? JSON.stringify(value) : value];
}

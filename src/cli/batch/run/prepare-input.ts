import { createReadStream, createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Line, parseLine, splitLines } from '../../../base/byte-lines.ts';
import { type Fields, parseOrUndefined } from '../../../base/fields.ts';
import { splitArray } from '../../../base/split-array.ts';
import { editMembers, type Edits } from '../../../wire/json/edit-members.ts';
import { findMember, scanJson } from '../../../wire/json/scan.ts';
import { keyValue } from '../../shared/commands.ts';
import { wrapItem } from './wrap-item.ts';

/** Changes that `batch run` makes to every request. */
export interface Changes {
  endpoint?: string | undefined;
  model?: string | undefined;
  /** `key=value` pairs; the value is JSON, or else a string. */
  set?: readonly string[] | undefined;
  /** Turns request bodies and exported conversations, one a line or in one JSON array, into batch lines. */
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
    await pipeline(
      source,
      (chunks: AsyncIterable<Uint8Array>) =>
        changeLines(changes.wrap === true ? splitItems(chunks) : splitLines(chunks), change),
      target,
      { signal },
    );
  return copy;
}

type Item = Pick<Line, 'bytes' | 'whole'>;

async function* changeLines(lines: AsyncIterable<Item>, change: Change): AsyncGenerator<Uint8Array> {
  let number = 0;
  for await (const line of lines) {
    number++;
    // Invalid JSON is left to the server, which reports the line.
    const request = parseLine(line.bytes);
    const text = request && change(Buffer.from(line.bytes).toString('utf8'), request, number);
    if (text === '') continue;
    yield text === undefined ? line.bytes : Buffer.from(text);
    if (line.whole) yield newline;
  }
}

/** Lines of JSON Lines, or the items of one JSON array as lines. */
async function* splitItems(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Item> {
  const iterator = chunks[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done === true) return;
  const all = async function* () {
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => iterator };
  };
  const isArray = /^\uFEFF?\s*\[/.test(Buffer.from(first.value.subarray(0, sniffedBytes)).toString('utf8'));
  if (!isArray) return yield* splitLines(all());
  for await (const bytes of splitArray(all()))
    // Strings have no line breaks in JSON.
    yield {
      bytes: Buffer.from(
        Buffer.from(bytes)
          .toString('utf8')
          .replaceAll(/\s*[\r\n]\s*/g, ' ')
          .trim(),
      ),
      whole: true,
    };
}

const sniffedBytes = 1000;

const newline = Buffer.from('\n');
const anySize = { maxDepth: Infinity, maxNodes: Infinity };

/** Returns the changed line, or '' to leave it out. */
export type Change = (line: string, request: Fields, number: number) => string;

/** Change of a line; undefined without changes. */
export function toChange({ endpoint, model, set = [], wrap }: Changes): Change | undefined {
  const body: Edits = new Map(set.map(readSetting));
  if (model !== undefined) body.set('model', JSON.stringify(model));
  if (body.size === 0 && endpoint === undefined && wrap !== true) return undefined;
  return (given, request, number) => {
    const line = wrap === true ? wrapItem(given, request, { number, hasModel: model !== undefined }) : given;
    if (line === '') return '';
    const scan = scanJson(line, anySize);
    const edits: Edits = new Map(endpoint === undefined ? [] : [['url', JSON.stringify(endpoint)]]);
    const member = findMember(scan, 'body');
    if (member !== undefined && line[member.start] === '{')
      edits.set('body', editMembers(line.slice(member.start, member.end), body));
    return editMembers(line, edits, scan);
  };
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

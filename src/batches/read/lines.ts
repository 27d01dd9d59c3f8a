import { createFairGate } from '../../base/fair-gate.ts';
import type { Random } from '../../base/random.ts';
import { ApiError } from '../../core/errors.ts';
import type { LineMark } from '../../store/contract/results.ts';
import type { LinePage, LineQuery, LineView } from '../../wire/batch/lines.ts';
import { customIdOf } from '../../wire/batch/stored-line.ts';
import type { LineSource } from './line-source.ts';
import { lineMatches, stateOf, toLineViews } from './line-views.ts';

/** Marks that one statement reads. */
const marksPerRead = 1_000;
/** Lines that are read at a time, and their bytes. */
const linesPerRead = 64;
const bytesPerRead = 1 << 20;
/** Maximum bytes of requests and answers that one page reads. A page that ends for this reason may be short. */
const maxPageBytes = 8 << 20;
const maxSearchBytes = 24 << 20;

/** Searches and samples read many lines: some run at a time, one of an org. */
export function createSearchGate() {
  return createFairGate({
    capacity: 3,
    maxPerOwner: 1,
    maxWaiting: 32,
    fullError: () =>
      new ApiError('server_overloaded', 'Too many searches of the org are waiting. Try again in a moment.', {
        retryAfter: 1,
      }),
  });
}

/** One page of lines in the order of the input, or a random sample. @param signal stops a search whose client has left */
export async function readLines(
  source: LineSource,
  query: LineQuery,
  random: Pick<Random, 'float'>,
  signal: AbortSignal,
): Promise<LinePage> {
  if (query.sample !== undefined) return sampleLines(source, query, random, signal);
  const { total } = source.batch;
  const reads = query.q !== undefined || query.customId !== undefined;
  const maxBytes = reads ? maxSearchBytes : maxPageBytes;
  const lines: LineView[] = [];
  let bytes = 0;
  let read = 0;
  for (let from = query.after; from < total; from += marksPerRead) {
    signal.throwIfAborted();
    const candidates = await matching(source, query, from, Math.min(total, from + marksPerRead));
    for (const group of inGroups(candidates, source)) {
      if (lines.length >= query.limit || (read > 0 && bytes + group.bytes > maxBytes))
        return { lines, nextAfter: group.lines[0]! };
      signal.throwIfAborted();
      bytes += group.bytes;
      read++;
      const room = query.limit - lines.length;
      const wanted = reads ? group.lines : group.lines.slice(0, room);
      const found = await readGroup(source, wanted, query);
      lines.push(...found.slice(0, room));
      if (lines.length === query.limit) {
        const last = reads ? lines.at(-1)!.line : wanted.at(-1)!;
        return { lines, nextAfter: last + 1 < total ? last + 1 : null };
      }
      if (query.customId !== undefined && lines.length > 0) return { lines, nextAfter: null };
    }
  }
  return { lines, nextAfter: null };
}

/** Finds the number of the line with a custom_id; undefined for an unknown custom_id. */
export async function findLine(
  source: LineSource,
  customId: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  const all = Array.from({ length: source.batch.total }, (_, line) => ({ line, mark: undefined }));
  for (const { lines } of inGroups(all, source)) {
    signal.throwIfAborted();
    const inputs = await source.input(lines);
    const at = inputs.findIndex((bytes) => bytes && customIdOf(bytes) === customId);
    if (at >= 0) return lines[at];
  }
  return undefined;
}

interface Candidate {
  line: number;
  mark: LineMark | undefined;
}

/** Lines from `from` up to `to` whose state and code match. */
async function matching(
  source: LineSource,
  { state, code }: LineQuery,
  from: number,
  to: number,
): Promise<Candidate[]> {
  const marks = await source.marks(from, to);
  return marks
    .map((mark, at) => ({ line: from + at, mark }))
    .filter(
      ({ line, mark }) =>
        (state === undefined || stateOf(source, line, mark) === state) &&
        (code === undefined || mark?.code === code),
    );
}

/** Cuts lines into groups that are read together. */
function* inGroups(
  candidates: readonly Candidate[],
  source: LineSource,
): Generator<{ lines: number[]; bytes: number }> {
  let group = { lines: [] as number[], bytes: 0 };
  for (const { line, mark } of candidates) {
    const size = source.bytesOf(line) + (mark?.bytes ?? 0);
    if (group.lines.length > 0 && (group.lines.length >= linesPerRead || group.bytes + size > bytesPerRead)) {
      yield group;
      group = { lines: [], bytes: 0 };
    }
    group.lines.push(line);
    group.bytes += size;
  }
  if (group.lines.length > 0) yield group;
}

async function readGroup(
  source: LineSource,
  lines: readonly number[],
  query: LineQuery,
): Promise<LineView[]> {
  const views = await toLineViews(source, lines);
  return views.filter((view) => lineMatches(view, query)).map(({ view }) => view);
}

/** Random lines that match, the same for a seed as long as the states of the lines are. */
async function sampleLines(
  source: LineSource,
  query: LineQuery,
  random: Pick<Random, 'float'>,
  signal: AbortSignal,
): Promise<LinePage> {
  const { total } = source.batch;
  const seed = query.seed ?? Math.floor(random.float() * 0x1_00_00_00_00);
  const chosen: { line: number; mark: LineMark | undefined; rank: number }[] = [];
  for (let from = 0; from < total; from += marksPerRead) {
    signal.throwIfAborted();
    for (const candidate of await matching(source, query, from, Math.min(total, from + marksPerRead))) {
      const rank = mix(seed, candidate.line);
      if (chosen.length === query.sample && rank >= chosen.at(-1)!.rank) continue;
      const at = chosen.findIndex((other) => other.rank > rank);
      chosen.splice(at < 0 ? chosen.length : at, 0, { ...candidate, rank });
      if (chosen.length > query.sample!) chosen.pop();
    }
  }
  const lines: LineView[] = [];
  for (const group of inGroups(
    chosen.toSorted((a, b) => a.line - b.line),
    source,
  ))
    lines.push(...(await readGroup(source, group.lines, query)));
  return { lines, nextAfter: null, seed };
}

/** Hash of a seed and a line (the finalizer of MurmurHash3), by which lines are in random order. */
function mix(seed: number, line: number): number {
  let hash = Math.imul(seed ^ Math.imul(line + 1, 0x9e_37_79_b9), 0x85_eb_ca_6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2_b2_ae_35);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85_eb_ca_6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}

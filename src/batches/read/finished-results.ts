import { type Line, parseLine, splitLines } from '../../base/byte-lines.ts';
import { createFairGate } from '../../base/fair-gate.ts';
import { fieldsOf, stringOr } from '../../base/fields.ts';
import type { Blobs } from '../../blobs/blobs.ts';
import type { Batch, ResultStream } from '../../core/batch.ts';
import { isBlobLost, lostBlob } from '../../core/blob-error.ts';
import type { StoredFile } from '../../core/file.ts';
import type { LineOutcome } from '../../core/line.ts';
import type { Files } from '../../files/files.ts';
import { indexName } from '../../files/upload.ts';
import type { LineMark } from '../../store/contract/results.ts';
import type { Store } from '../../store/store.ts';
import { lineOfRequest } from '../lines/line-result.ts';
import { decodeIndexRow, type PlacedOutcome } from '../lines/result-index.ts';
import { resultFileOf } from './results.ts';

/** Memory for the places of lines; batches beyond it are read again. */
const maxBytes = 32 << 20;
const bytesPerLine = 22;

/** Result of a line with its line in the output or error file. */
export interface LineResult extends LineOutcome {
  body: Uint8Array;
}

export interface FinishedResultsDeps {
  store: Pick<Store, 'files'>;
  blobs: Pick<Blobs, 'read' | 'size' | 'slices'>;
  files: Pick<Files, 'read'>;
}

/** Caches the places of the results of the finished batches that were read last. */
export class FinishedResults {
  #deps: FinishedResultsDeps;
  /** An org that opens many batches reads them one after the other. */
  #loads = createFairGate({ capacity: 4, maxPerOwner: 1 });
  /** By batch id, the least recently used first. */
  #read = new Map<string, { places: Promise<ResultPlaces>; bytes: number }>();

  constructor(deps: FinishedResultsDeps) {
    this.#deps = deps;
  }

  /** @throws ApiError `not_found` if a result file is gone */
  async of(batch: Batch): Promise<ResultPlaces> {
    const output = await resultFileOf(this.#deps, batch, 'output');
    const files = { output, errors: await resultFileOf(this.#deps, batch, 'errors') };
    const known = this.#read.get(batch.id);
    const entry = known ?? {
      places: this.#loads.within(batch.orgId, 1, undefined, () =>
        ResultPlaces.read(this.#deps, files, batch.total),
      ),
      bytes: batch.total * bytesPerLine,
    };
    this.#read.delete(batch.id);
    this.#read.set(batch.id, entry);
    if (!known) this.#makeRoom();
    try {
      return await entry.places;
    } catch (error) {
      if (this.#read.get(batch.id) === entry) this.#read.delete(batch.id);
      throw error;
    }
  }

  /** Drops the least recently used batches, but not the last one. */
  #makeRoom(): void {
    let bytes = [...this.#read.values()].reduce((sum, entry) => sum + entry.bytes, 0);
    for (const [id, entry] of this.#read) {
      if (bytes <= maxBytes || this.#read.size === 1) return;
      this.#read.delete(id);
      bytes -= entry.bytes;
    }
  }
}

type ResultFiles = Record<ResultStream, StoredFile | null>;

/** Places of the results of one batch: of their rows in the index, or of the results where there is no index. */
export class ResultPlaces {
  readonly total: number;
  readonly #deps: FinishedResultsDeps;
  readonly #files: ResultFiles;
  /** Result codes: the answers' null first. */
  readonly #codes: (string | null)[] = [null];
  /** 0 for a line without a result, else 1 + its place in `codes`. */
  readonly #code: Uint16Array;
  readonly #offset: Float64Array;
  readonly #length: Uint32Array;
  readonly #bodyLength: Uint32Array;
  readonly #indexed: Record<ResultStream, boolean> = { output: true, errors: true };

  static async read(deps: FinishedResultsDeps, files: ResultFiles, total: number): Promise<ResultPlaces> {
    const places = new ResultPlaces(deps, files, total);
    for (const stream of ['output', 'errors'] as const) await places.#load(stream);
    return places;
  }

  private constructor(deps: FinishedResultsDeps, files: ResultFiles, total: number) {
    this.total = total;
    this.#deps = deps;
    this.#files = files;
    this.#code = new Uint16Array(total);
    this.#offset = new Float64Array(total);
    this.#length = new Uint32Array(total);
    this.#bodyLength = new Uint32Array(total);
  }

  mark(line: number): LineMark | undefined {
    const code = this.#code[line];
    if (!code) return undefined;
    return { line, code: this.#codes[code - 1] ?? null, bytes: this.#bodyLength[line] ?? 0 };
  }

  /** Reads the index of a result file, or the file itself where the index is missing or damaged. */
  async #load(stream: ResultStream): Promise<void> {
    const file = this.#files[stream];
    if (!file) return;
    const { blobs, files } = this.#deps;
    const name = indexName(file.blobId);
    try {
      if ((await blobs.size(name)) !== undefined)
        return await this.#place(await blobs.read(name), ({ bytes }) => decodeIndexRow(bytes));
    } catch (error) {
      if (!(error instanceof SyntaxError || isBlobLost(error))) throw error;
    }
    this.#indexed[stream] = false;
    await this.#place(await files.read(file), ({ bytes }) => outcomeOf(bytes, stream));
  }

  async #place(bytes: AsyncIterable<Uint8Array>, decode: (row: Line) => PlacedOutcome): Promise<void> {
    for await (const row of splitLines(bytes)) {
      const { line, code, length } = decode(row);
      if (line >= this.total) continue;
      this.#code[line] = 1 + this.#codeNumber(code);
      this.#offset[line] = row.offset;
      this.#length[line] = row.bytes.length;
      this.#bodyLength[line] = length;
    }
  }

  async read(lines: readonly number[]): Promise<Map<number, LineResult>> {
    const found = new Map<number, LineResult>();
    for (const stream of ['output', 'errors'] as const) {
      const file = this.#files[stream];
      const of = lines.filter((line) => {
        const mark = this.mark(line);
        return mark && (mark.code === null) === (stream === 'output');
      });
      if (!file || of.length === 0) continue;
      for (const result of await this.#readFrom(file, stream, of)) found.set(result.line, result);
    }
    return found;
  }

  async #readFrom(file: StoredFile, stream: ResultStream, lines: readonly number[]): Promise<LineResult[]> {
    const { blobs } = this.#deps;
    const ranges = lines.map((line) => ({ offset: this.#offset[line]!, length: this.#length[line]! }));
    if (!this.#indexed[stream]) {
      const bodies = await blobs.slices(file.blobId, ranges);
      return bodies.map((body) => ({ ...outcomeOf(body, stream), body }));
    }
    const rows = (await blobs.slices(indexName(file.blobId), ranges)).map(decodeIndexRow);
    const bodies = await blobs.slices(file.blobId, rows);
    return rows.map((row, at) => {
      const body = bodies[at]!;
      if (lineNamedBy(body) !== row.line)
        throw lostBlob('damaged', `The index of ${file.id} (${file.blobId}) does not match its content.`);
      return { ...row, body };
    });
  }

  #codeNumber(code: string | null): number {
    const known = this.#codes.indexOf(code);
    return known >= 0 ? known : this.#codes.push(code) - 1;
  }
}

/** Outcome of a result of an earlier version, which has no index, as far as the result shows it. */
function outcomeOf(bytes: Uint8Array, stream: ResultStream): PlacedOutcome {
  const result = parseLine(bytes) ?? {};
  const body = fieldsOf(fieldsOf(result['response'])['body']);
  const error = fieldsOf(result['error']);
  const usage = fieldsOf(body['usage']);
  const outcome: LineOutcome = {
    line: lineOfRequest(String(result['id'])),
    code: stream === 'output' ? null : stringOr(error['code'], 'unknown'),
    model: stringOr(body['model'], ''),
    inputTokens: Number(usage['prompt_tokens'] ?? usage['input_tokens'] ?? 0),
    cachedTokens: Number(fieldsOf(usage['prompt_tokens_details'])['cached_tokens'] ?? 0),
    outputTokens: Number(usage['completion_tokens'] ?? usage['output_tokens'] ?? 0),
    attempts: Number(error['attempts'] ?? 1),
    run: null,
  };
  return { ...outcome, offset: 0, length: bytes.length };
}

/** Line number in the id of a result, with which every result begins. */
function lineNamedBy(body: Uint8Array): number {
  const id = /^\{"id":"req_\w+_(\d+)"/.exec(new TextDecoder().decode(body.subarray(0, 80)))?.[1];
  return Number(id ?? -1);
}

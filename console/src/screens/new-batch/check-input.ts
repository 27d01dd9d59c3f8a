import { type BatchEndpoint, batchEndpoints, defaultLimits } from '../../../../src/core/batch.ts';
import type { Fault } from '../../../../src/core/errors.ts';
import type { FieldWarning } from '../../../../src/core/field-warning.ts';
import { createLineChecker, type LineChecker } from '../../../../src/wire/batch/line.ts';
import { type SplitItem, type SplitLine, Splitter } from '../../../../src/wire/batch/split.ts';

/** Consecutive whole lines of a file, for one batch. */
export interface Part {
  /** Lines of the file before it, by which faults of the server are shifted. */
  linesBefore: number;
  /** Offset of the first byte, and the one after the last. */
  start: number;
  end: number;
  requests: number;
}

/** Findings of the check so far. */
export interface CheckReport {
  bytes: number;
  requests: number;
  /** Estimated prompt tokens plus the longest answers. */
  tokens: number;
  endpoint: BatchEndpoint | null;
  /** Requests by model, as the lines spell it. */
  models: Readonly<Record<string, number>>;
  parts: readonly Part[];
  /** First faults. */
  faults: readonly Fault[];
  faultCount: number;
  /** Unknown fields of the valid requests. */
  warnings: readonly FieldWarning[];
}

export interface CheckLimits {
  requests: number;
  bytes: number;
  lineBytes: number;
}

const maxFaults = 100;

/** Checks a batch file by the rules of the server, while it is read, and cuts it into batches. Models are checked by the server. */
export class InputCheck {
  readonly #limits: CheckLimits;
  readonly #splitter: Splitter;
  readonly #checker: LineChecker;
  readonly #models = new Map<string, number>();
  readonly #parts: Part[] = [];
  readonly #faults: Fault[] = [];
  #faultCount = 0;
  #bytes = 0;
  #requests = 0;
  #tokens = 0;

  constructor(limits: CheckLimits = defaultLimits) {
    this.#limits = limits;
    this.#splitter = new Splitter({ lineBytes: limits.lineBytes });
    this.#checker = createLineChecker({
      endpoints: batchEndpoints,
      takesFiles: true,
      refuseModel: () => undefined,
    });
  }

  push(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    for (const item of this.#splitter.push(chunk)) this.#take(item);
  }

  end(): void {
    for (const item of this.#splitter.end()) this.#take(item);
    if (this.#requests === 0 && this.#faultCount === 0)
      this.#add([{ code: 'empty_file', message: 'the file has no requests' }]);
  }

  report(): CheckReport {
    return {
      bytes: this.#bytes,
      requests: this.#requests,
      tokens: this.#tokens,
      endpoint: this.#checker.endpoint ?? null,
      models: Object.fromEntries(this.#models),
      parts: this.#parts.map((part, at) => ({ ...part, end: this.#parts[at + 1]?.start ?? this.#bytes })),
      faults: this.#faults,
      faultCount: this.#faultCount,
      warnings: this.#checker.warnings,
    };
  }

  #take(item: SplitItem): void {
    if (item.fault !== undefined) return this.#add([item.fault]);
    this.#requests++;
    this.#assign(item.line);
    const verdict = this.#checker.check(item.line.bytes, item.line.number);
    if (!verdict.ok) return this.#add(verdict.faults);
    this.#tokens += verdict.est;
    this.#models.set(verdict.model, (this.#models.get(verdict.model) ?? 0) + 1);
  }

  /** Adds a line to the last part, or begins one where it would exceed the limits of a batch. */
  #assign({ number, offset, length }: SplitLine): void {
    const last = this.#parts.at(-1);
    const end = offset + length + 1;
    const fits = last && last.requests < this.#limits.requests && end - last.start <= this.#limits.bytes;
    if (fits) {
      last.requests++;
      last.end = end;
    } else
      this.#parts.push({ linesBefore: last ? number - 1 : 0, start: last ? offset : 0, end, requests: 1 });
  }

  #add(found: readonly Fault[]): void {
    this.#faultCount += found.length;
    this.#faults.push(...found.slice(0, maxFaults - this.#faults.length));
  }
}

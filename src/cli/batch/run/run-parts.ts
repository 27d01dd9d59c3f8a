import type { Timer } from '../../../base/clock.ts';
import type { Client } from '../../../client/client.ts';
import { ClientError } from '../../../client/errors.ts';
import type { RemoteBatch } from '../../../client/resources.ts';
import { isFinal } from '../../../core/batch.ts';
import type { FieldWarning } from '../../../core/field-warning.ts';
import { warningText } from '../../../wire/shared/field-warnings.ts';
import type { Cli } from '../../shared/cli.ts';
import { garbageCollector } from '../../shared/collect-garbage.ts';
import { openBlob } from '../../shared/local-file.ts';
import type { InputFile, InputPart } from './read-input.ts';
import type { RunFile } from './run-state.ts';

const gcIntervalMs = 25;
/** Unfinished requests on the server, enough to keep it busy until the next batch arrives. */
const maxOutstanding = 10_000;

export interface PartsDeps {
  client: Client;
  process: Pick<Cli, 'clock' | 'ownsProcess'>;
  run: RunFile;
  input: InputFile;
  /** Name of the uploaded files. */
  filename: string;
  endpoint: string;
  metadata: Record<string, unknown> | undefined;
  priority: number | undefined;
  /** Completion window; 24h if undefined. */
  window: string | undefined;
  note(text: string): void;
  /** Downloads the results of a finished batch; called in the order of the parts. */
  collect(batch: RemoteBatch, part: InputPart): Promise<void>;
}

export type PartsRun = ReturnType<typeof runParts>;

/** Uploads the parts of an input, creates their batches and collects the results. */
export function runParts(deps: PartsDeps) {
  const { client, run, input } = deps;
  const { state } = run;
  const seen: (RemoteBatch | undefined)[] = input.parts.map(() => undefined);
  /** Parts that this process has uploaded. */
  const uploadedHere = new Set<number>();
  const warned = new Set<string>();
  let stopped = false;
  let isFirstStep = true;

  const indices = input.parts.map((_, index) => index);
  const isCreated = (index: number) => state.parts[index]!.batch_id !== null;
  const isCollected = (index: number) => index < state.collected.parts;
  const open = () => indices.filter((index) => isCreated(index) && !isCollected(index));
  const outstanding = () =>
    open().reduce((sum, index) => {
      const counts = seen[index]?.request_counts;
      return sum + (counts ? counts.total - counts.completed - counts.failed : input.parts[index]!.requests);
    }, 0);

  async function upload(index: number, signal?: AbortSignal): Promise<void> {
    const part = input.parts[index]!;
    const content = (await openBlob(input.path)).slice(part.offset, part.offset + part.bytes);
    const idempotencyKey = `${state.parts[index]!.token}-file`;
    try {
      const sent = client.files.upload({ content, filename: deps.filename, idempotencyKey, signal });
      const { id, warnings } = await withFrequentGc(deps.process, sent);
      noteWarnings(warnings ?? [], part);
      run.remember(index, { file_id: id });
      uploadedHere.add(index);
    } catch (error) {
      throw error instanceof ClientError ? shiftLines(error, part) : error;
    }
  }

  /** Notes each unknown field once, though several parts may have it. */
  function noteWarnings(warnings: readonly FieldWarning[], { linesBefore }: InputPart): void {
    for (const { line, ...warning } of warnings) {
      if (warned.has(warning.field)) continue;
      warned.add(warning.field);
      deps.note(warningText({ ...warning, line: line === null ? null : line + linesBefore }));
    }
  }

  /** @returns false if the batch has no place in its window before earlier ones of this run have ended */
  async function create(index: number): Promise<boolean> {
    if (state.parts[index]!.file_id === null) await upload(index);
    const { token, file_id: inputFileId } = state.parts[index]!;
    const { endpoint, metadata, priority, window } = deps;
    try {
      const fields = { endpoint, inputFileId: inputFileId!, metadata, priority, window };
      const batch = await client.batches.create({ ...fields, idempotencyKey: `${token}-batch` });
      run.remember(index, { batch_id: batch.id });
      seen[index] = batch;
      const which = input.parts.length > 1 ? ` (${index + 1} of ${input.parts.length})` : '';
      deps.note(`Created ${batch.id}${which}.`);
    } catch (error) {
      if (isTooLate(error) && open().length > 0) return false;
      // A file uploaded by an earlier run may have been deleted since.
      if (!isGone(error) || uploadedHere.has(index)) throw error;
      run.restart(index);
    }
    return true;
  }

  async function refresh(index: number): Promise<void> {
    const id = state.parts[index]!.batch_id!;
    const last = seen[index];
    if (last !== undefined && isFinal(last.status)) return;
    try {
      seen[index] = await client.batches.get(id);
      if (isFirstStep && !isCollected(index)) deps.note(`Resuming ${id}.`);
    } catch (error) {
      if (!isGone(error)) throw error;
      if (isCollected(index)) return;
      deps.note(`${id} no longer exists. Starting again.`);
      seen[index] = undefined;
      run.restart(index);
    }
  }

  async function collectReady(): Promise<void> {
    for (let index = state.collected.parts; index < input.parts.length; index++) {
      const batch = seen[index];
      if (batch === undefined || !isFinal(batch.status)) return;
      await deps.collect(batch, input.parts[index]!);
    }
  }

  return {
    /** Uploads all missing parts, so that the whole input is validated before any of it runs. */
    async upload(signal: AbortSignal) {
      for (const index of indices) {
        const part = state.parts[index]!;
        if (!isCollected(index) && part.file_id === null && part.batch_id === null)
          await upload(index, signal);
      }
    },
    /** Polls batches, collects finished ones and creates the next ones. @returns true when all is done */
    async step() {
      // Batches collected by an earlier run are read once, for the totals at the end.
      for (const index of isFirstStep ? indices.filter(isCreated) : open()) await refresh(index);
      isFirstStep = false;
      await collectReady();
      for (const index of indices) {
        if (stopped || outstanding() >= maxOutstanding) break;
        if (!isCollected(index) && !isCreated(index) && !(await create(index))) break;
      }
      return stopped ? open().length === 0 : state.collected.parts === input.parts.length;
    },
    /** Cancels running batches and creates no more. Their finished results are still collected. */
    async cancel() {
      stopped = true;
      for (const index of open()) {
        try {
          seen[index] = await client.batches.act(state.parts[index]!.batch_id!, 'cancel');
        } catch (error) {
          // The batch has just ended.
          if (!(error instanceof ClientError) || error.status !== 409) throw error;
        }
      }
    },
    /** Last known state of the batches created so far. */
    batches: () => seen.filter((batch) => batch !== undefined),
  };
}

function isGone(error: unknown): boolean {
  return error instanceof ClientError && error.status === 404;
}

function isTooLate(error: unknown): boolean {
  return error instanceof ClientError && error.code === 'window_too_short';
}

/** Converts line numbers of an uploaded part to those of the whole input. */
function shiftLines(error: ClientError, { linesBefore }: InputPart): ClientError {
  for (const fault of error.faults) if (fault.line !== undefined) fault.line += linesBefore;
  return error;
}

/**
 * Runs garbage collections during `work`. To V8, a sent chunk of a file is only a few hundred bytes, so on its own it would
 * let 100 MB of them pile up.
 */
async function withFrequentGc<T>(process: PartsDeps['process'], work: Promise<T>): Promise<T> {
  if (process.ownsProcess !== true) return work;
  const { clock } = process;
  const collect = garbageCollector(process);
  let timer: Timer;
  const again = () => {
    collect();
    timer = clock.after(gcIntervalMs, again);
  };
  timer = clock.after(gcIntervalMs, again);
  try {
    return await work;
  } finally {
    timer.cancel();
    collect();
  }
}

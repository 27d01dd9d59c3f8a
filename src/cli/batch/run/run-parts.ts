import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Timer } from '../../../base/clock.ts';
import type { Client } from '../../../client/client.ts';
import { ClientError } from '../../../client/errors.ts';
import type { RemoteBatch } from '../../../client/resources.ts';
import { isFinal } from '../../../core/batch.ts';
import type { Cli } from '../../shared/cli.ts';
import { openBlob } from '../../shared/local-file.ts';
import type { InputFile, InputPart } from './read-input.ts';
import type { RunFile } from './run-state.ts';

/** Between two collections of garbage. */
const pauseMs = 25;
/** Requests on the server that are not done: enough to keep it busy until the next batch is there. */
const maxOutstanding = 10_000;

export interface PartsDeps {
  client: Client;
  process: Pick<Cli, 'clock' | 'ownsProcess'>;
  run: RunFile;
  input: InputFile;
  /** What the uploads are called. */
  filename: string;
  endpoint: string;
  metadata: Record<string, unknown> | undefined;
  note(text: string): void;
  /** Takes the results of a part whose batch has ended; called in the order of the parts. */
  collect(batch: RemoteBatch, part: InputPart): Promise<void>;
}

export type PartsRun = ReturnType<typeof runParts>;

/** The batches that one input becomes. */
export function runParts(job: PartsDeps) {
  const { client, run, input } = job;
  const { state } = run;
  const seen: (RemoteBatch | undefined)[] = input.parts.map(() => undefined);
  /** Whose upload this process saw succeed. */
  const uploadedHere = new Set<number>();
  let stopped = false;
  let isFirstStep = true;

  const indices = input.parts.map((_, index) => index);
  const isMade = (index: number) => state.parts[index]!.batch_id !== null;
  const isCollected = (index: number) => index < state.collected.parts;
  const open = () => indices.filter((index) => isMade(index) && !isCollected(index));
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
      const sent = client.files.upload({ content, filename: job.filename, idempotencyKey, signal });
      const { id } = await withFrequentGc(job.process, sent);
      run.remember(index, { file_id: id });
      uploadedHere.add(index);
    } catch (error) {
      throw error instanceof ClientError ? shiftLines(error, part) : error;
    }
  }

  async function create(index: number): Promise<void> {
    if (state.parts[index]!.file_id === null) await upload(index);
    const { token, file_id: inputFileId } = state.parts[index]!;
    const { endpoint, metadata } = job;
    try {
      const idempotencyKey = `${token}-batch`;
      const batch = await client.batches.create({
        endpoint,
        inputFileId: inputFileId!,
        metadata,
        idempotencyKey,
      });
      run.remember(index, { batch_id: batch.id });
      seen[index] = batch;
      const which = input.parts.length > 1 ? ` (${index + 1} of ${input.parts.length})` : '';
      job.note(`Created ${batch.id}${which}.`);
    } catch (error) {
      // What an earlier run had uploaded may have been deleted since.
      if (!isGone(error) || uploadedHere.has(index)) throw error;
      run.restart(index);
    }
  }

  async function refresh(index: number): Promise<void> {
    const id = state.parts[index]!.batch_id!;
    const last = seen[index];
    if (last !== undefined && isFinal(last.status)) return;
    try {
      seen[index] = await client.batches.get(id);
      if (isFirstStep && !isCollected(index)) job.note(`Going on with ${id}.`);
    } catch (error) {
      if (!isGone(error)) throw error;
      if (isCollected(index)) return;
      job.note(`${id} is gone; starting anew.`);
      seen[index] = undefined;
      run.restart(index);
    }
  }

  async function collectReady(): Promise<void> {
    for (let index = state.collected.parts; index < input.parts.length; index++) {
      const batch = seen[index];
      if (batch === undefined || !isFinal(batch.status)) return;
      await job.collect(batch, input.parts[index]!);
    }
  }

  return {
    /** Uploads every part that is not on the server yet, so that all of it is valid before anything of it runs. */
    async upload(signal: AbortSignal) {
      for (const index of indices) {
        const part = state.parts[index]!;
        if (!isCollected(index) && part.file_id === null && part.batch_id === null)
          await upload(index, signal);
      }
    },
    /** Starts, asks and collects what can be. @returns whether all is done */
    async step() {
      // What an earlier run had collected is asked for once, for the sums at the end.
      for (const index of isFirstStep ? indices.filter(isMade) : open()) await refresh(index);
      isFirstStep = false;
      await collectReady();
      for (const index of indices) {
        if (stopped || outstanding() >= maxOutstanding) break;
        if (!isCollected(index) && !isMade(index)) await create(index);
      }
      return stopped ? open().length === 0 : state.collected.parts === input.parts.length;
    },
    /** Cancels what runs, and starts nothing more. What is done already is still collected. */
    async cancel() {
      stopped = true;
      for (const index of open()) {
        try {
          seen[index] = await client.batches.ask(state.parts[index]!.batch_id!, 'cancel');
        } catch (error) {
          // It has just ended by itself, which is as good.
          if (!(error instanceof ClientError) || error.status !== 409) throw error;
        }
      }
    },
    /** The batches made so far, as they were seen last. */
    batches: () => seen.filter((batch) => batch !== undefined),
  };
}

function isGone(error: unknown): boolean {
  return error instanceof ClientError && error.status === 404;
}

/** The server counts lines from the start of what it was sent. */
function shiftLines(error: ClientError, { linesBefore }: InputPart): ClientError {
  for (const fault of error.faults) if (fault.line !== undefined) fault.line += linesBefore;
  return error;
}

/**
 * Collects garbage while `work` goes on. Chunks of a file that were sent weigh a few hundred bytes each in the eyes of V8,
 * which would let 100 MB of them lie before it does so by itself.
 */
async function withFrequentGc<T>({ clock, ownsProcess }: PartsDeps['process'], work: Promise<T>): Promise<T> {
  if (ownsProcess !== true) return work;
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  let timer: Timer;
  const again = () => {
    collect();
    timer = clock.after(pauseMs, again);
  };
  timer = clock.after(pauseMs, again);
  try {
    return await work;
  } finally {
    timer.cancel();
    collect();
  }
}

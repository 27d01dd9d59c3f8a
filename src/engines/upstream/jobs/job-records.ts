import { fieldsOf, parseOrUndefined, stringOr } from '../../../base/fields.ts';
import type { JobStorage } from './storage/job-storage.ts';

export const inputFile = 'input.jsonl';
/** Records of a job, from its creation to its end. Each is written once, except `seen`. */
const files = { manifest: 'job.json', started: 'started.json', ended: 'ended.json', seen: 'seen' } as const;
/** Longest record: the keys of 100,000 lines fit. */
const maxBytes = 16 * 1024 * 1024;

/** Reason why a job ended. */
export type EndState = 'succeeded' | 'failed' | 'cancelled';

export interface JobEnd {
  state: EndState;
  /** For the operator; empty unless the job failed. */
  note: string;
  /** Epoch milliseconds. */
  at: number;
}

export type JobRecords = ReturnType<typeof createJobRecords>;

/** Records by which every process knows the jobs of the others. They are stored next to the input, so they are there when it is. */
export function createJobRecords(storage: JobStorage) {
  const read = async (job: string, name: string) => {
    const bytes = await storage.read(job, name, 0, maxBytes);
    return bytes && fieldsOf(parseOrUndefined(bytes.toString()));
  };
  const write = (job: string, name: string, value: object) =>
    storage.write(job, name, `${JSON.stringify(value)}\n`);

  return {
    /** Written before the job is started, so that no other process starts one for its lines. */
    writeManifest: (job: string, model: string, lines: readonly string[]) =>
      write(job, files.manifest, { id: job, model, lines }),

    /** Keys of the lines; undefined for a job whose input is not complete. */
    async readLines(job: string): Promise<string[] | undefined> {
      const lines = (await read(job, files.manifest))?.['lines'];
      return Array.isArray(lines) ? lines.filter((line) => typeof line === 'string') : undefined;
    },

    writeStarted: (job: string, handle: string, at: number) => write(job, files.started, { handle, at }),

    /** Undefined for a job that was not started, as far as the records show. */
    async readStarted(job: string): Promise<{ handle: string; at: number } | undefined> {
      const fields = await read(job, files.started);
      return fields && { handle: stringOr(fields['handle'], ''), at: Number(fields['at']) };
    },

    writeEnded: (job: string, end: JobEnd) => write(job, files.ended, end),

    async readEnded(job: string): Promise<JobEnd | undefined> {
      const fields = await read(job, files.ended);
      if (!fields) return undefined;
      const { state, note, at } = fields;
      const known = state === 'succeeded' || state === 'cancelled' ? state : 'failed';
      return { state: known, note: stringOr(note, ''), at: Number(at) };
    },

    /** Notes that a process waits for the job. @param at epoch milliseconds */
    writeSeen: (job: string, at: number) => write(job, files.seen, { at }),

    async readSeen(job: string): Promise<number | undefined> {
      const fields = await read(job, files.seen);
      return fields && Number(fields['at']);
    },
  };
}

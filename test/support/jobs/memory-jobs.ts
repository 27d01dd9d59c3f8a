import {
  isJobId,
  isResultFile,
  type JobStorage,
} from '../../../src/engines/upstream/jobs/storage/job-storage.ts';

/** Storage of jobs in memory, with the files by `<job>/<name>`. */
export interface MemoryJobs extends JobStorage {
  files: Map<string, Buffer>;
  /** Error of every operation, while the storage is away. */
  fault: Error | undefined;
  /** Appends to a part of the output. */
  append(job: string, part: string, text: string): void;
}

export function createMemoryJobs(): MemoryJobs {
  const files = new Map<string, Buffer>();
  const keyOf = (job: string, name: string) => `${job}/${name}`;
  const jobs: MemoryJobs = {
    files,
    fault: undefined,
    append(job, part, text) {
      const key = keyOf(job, `output/${part}`);
      files.set(key, Buffer.concat([files.get(key) ?? Buffer.alloc(0), Buffer.from(text)]));
    },
    address: (job, name) => `/jobs/${job}/${name}`,
    async list() {
      requireStorage();
      return [...new Set([...files.keys()].map((key) => key.split('/')[0]!))].filter(isJobId).toSorted();
    },
    async create(job, name) {
      requireStorage();
      const chunks: Uint8Array[] = [];
      return {
        async write(chunk) {
          requireStorage();
          chunks.push(Buffer.from(chunk));
        },
        async commit() {
          requireStorage();
          files.set(keyOf(job, name), Buffer.concat(chunks));
        },
        abort: () => jobs.remove(job),
      };
    },
    async write(job, name, text) {
      requireStorage();
      files.set(keyOf(job, name), Buffer.from(text));
    },
    async read(job, name, start, length) {
      requireStorage();
      return files.get(keyOf(job, name))?.subarray(start, start + length);
    },
    async parts(job) {
      requireStorage();
      return [...files]
        .filter(([key]) => key.startsWith(`${job}/output/`) && isResultFile(key))
        .map(([key, { length }]) => ({ name: key.slice(job.length + 1), size: length }));
    },
    async remove(job) {
      for (const key of files.keys()) if (key.startsWith(`${job}/`)) files.delete(key);
    },
  };

  function requireStorage(): void {
    if (jobs.fault) throw jobs.fault;
  }

  return jobs;
}

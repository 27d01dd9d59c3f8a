/**
 * Files of the jobs of one model, where the jobs can reach them too: a shared folder or a bucket. Each job has a folder with its
 * input, its output and the records of the processes that follow it (docs/engines/jobs.md).
 */
export interface JobStorage {
  /** Address of a job's file for its runner: an absolute path, or an `s3://` URL. */
  address(job: string, name: string): string;
  /** Ids of all jobs, oldest first. */
  list(): Promise<string[]>;
  /** Begins a file, which does not exist until `commit`. */
  create(job: string, name: string): Promise<JobFileWriter>;
  /** Writes a small file as a whole. */
  write(job: string, name: string, text: string): Promise<void>;
  /** Up to `length` bytes from `start`, fewer at the end of the file; undefined if it is missing. */
  read(job: string, name: string, start: number, length: number): Promise<Buffer | undefined>;
  /** Files with results, which may still grow. */
  parts(job: string): Promise<OutputPart[]>;
  /** Removes a job with all its files. */
  remove(job: string): Promise<void>;
}

export interface JobFileWriter {
  write(chunk: Uint8Array): Promise<void>;
  commit(): Promise<void>;
  /** Removes everything written. */
  abort(): Promise<void>;
}

export interface OutputPart {
  /** Path below the folder of the job. */
  name: string;
  /** In bytes. */
  size: number;
}

/** Folder of a job that its runner writes results to. */
export const outputFolder = 'output';

/** True for the id of a job. Other names in the folder are ignored. */
export function isJobId(name: string): boolean {
  return /^job-[0-9a-f]{32}$/.test(name);
}

/** Creation time of a job in epoch milliseconds: ids begin with it. */
export function jobCreatedAt(job: string): number {
  return Number.parseInt(job.slice(4, 16), 16);
}

/** True for a file of results. Names that begin with a dot or an underscore are those of files that are being written. */
export function isResultFile(path: string): boolean {
  return /\.(?:jsonl|ndjson|json)$/.test(path) && !path.split('/').some((part) => /^[._]/.test(part));
}

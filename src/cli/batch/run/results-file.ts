import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { CliError } from '../../shared/exit-codes.ts';
import type { Terminal } from '../../terminal/terminal.ts';

/** Destination of result lines. */
export interface ResultsFile {
  /** Resolves when the next lines can be written; the memory of these may then be reused. */
  write(lines: Uint8Array | string): Promise<void>;
  /** Truncates to `size` bytes before an interrupted attempt is repeated. */
  rewind(size: number): Promise<void>;
  /** Makes the lines durable. @returns the size in bytes */
  flush(): Promise<number>;
  /** Renames the file to its final path. @returns the path, or null (and no file) without any lines */
  finish(): Promise<string | null>;
  /** Removes the lines written so far. */
  discard(): Promise<void>;
  /** Closes the file, so that a later run can resume. Can be called repeatedly. */
  close(): Promise<void>;
}

const bufferBytes = 262_144;

/**
 * Results file, named `path.part` until it is complete.
 * @param kept bytes that an earlier run has completed; the rest is cut off
 */
export async function openResultsFile(path: string, kept: number): Promise<ResultsFile> {
  const part = `${path}.part`;
  // An earlier run may have been killed after the rename and before the removal of its state file.
  const isPlaced = kept > 0 && !existsSync(part) && statSync(path, { throwIfNoEntry: false })?.size === kept;
  if (kept > 0 && !isPlaced && (statSync(part, { throwIfNoEntry: false })?.size ?? 0) < kept)
    throw new CliError(
      `${part}, which contained results of an earlier run, is missing.`,
      'Remove the .offpeak.json file next to it to start again.',
    );
  const handle = await open(isPlaced ? path : part, kept > 0 ? 'r+' : 'w');
  await handle.truncate(kept);
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let size = kept;
  let isOpen = true;
  const close = async () => {
    if (isOpen) await handle.close();
    isOpen = false;
  };
  const append = async (bytes: Uint8Array) => {
    for (let done = 0; done < bytes.length;) {
      const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, size);
      done += bytesWritten;
      size += bytesWritten;
    }
  };
  const drain = async () => {
    const bytes = Buffer.concat(waiting);
    waiting = [];
    waitingBytes = 0;
    await append(bytes);
  };
  return {
    async write(lines) {
      // A row group of Parquet, which is large, is not copied.
      if (typeof lines !== 'string' && lines.length >= bufferBytes) {
        await drain();
        return append(lines);
      }
      const bytes = Buffer.from(lines);
      waiting.push(bytes);
      waitingBytes += bytes.length;
      if (waitingBytes >= bufferBytes) await drain();
    },
    async rewind(to) {
      waiting = [];
      waitingBytes = 0;
      await handle.truncate(to);
      size = to;
    },
    async flush() {
      await drain();
      await handle.sync();
      return size;
    },
    async finish() {
      await drain();
      await handle.sync();
      await close();
      if (size > 0 && !isPlaced) await rename(part, path);
      if (size > 0) return path;
      await rm(part, { force: true });
      await rm(path, { force: true });
      return null;
    },
    async discard() {
      await close();
      await rm(part, { force: true });
    },
    close,
  };
}

/** Results on stdout. */
export function resultsToStdout({ stdout }: Terminal): ResultsFile {
  return {
    async write(line) {
      if (!stdout.write(line)) await once(stdout, 'drain');
    },
    rewind: () => Promise.resolve(),
    flush: () => Promise.resolve(0),
    finish: () => Promise.resolve(null),
    discard: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

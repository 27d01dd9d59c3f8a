import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { CliError } from '../../shared/exit-codes.ts';
import type { Terminal } from '../../terminal/terminal.ts';

/** Where results are written, line after line. */
export interface ResultsFile {
  write(line: Uint8Array | string): Promise<void>;
  /** Forgets everything behind `size` bytes: an attempt that broke off is made again. */
  rewind(size: number): Promise<void>;
  /** Makes what was written durable. @returns its bytes */
  flush(): Promise<number>;
  /** Puts the file in its place, or leaves none when nothing was written. @returns the path, or null */
  finish(): Promise<string | null>;
  /** Removes what was written so far. */
  discard(): Promise<void>;
  /** Lets go of it as it is; a later run goes on there. May be called again. */
  close(): Promise<void>;
}

const bufferBytes = 262_144;

/**
 * A file that stands in `path.part` until it is whole.
 * @param kept how much of it an earlier run is known to have written; what follows is cut off
 */
export async function openResultsFile(path: string, kept: number): Promise<ResultsFile> {
  const part = `${path}.part`;
  // An earlier run may have ended after the file was in its place and before it forgot about it.
  const isPlaced = kept > 0 && !existsSync(part) && statSync(path, { throwIfNoEntry: false })?.size === kept;
  if (kept > 0 && !isPlaced && (statSync(part, { throwIfNoEntry: false })?.size ?? 0) < kept)
    throw new CliError(
      `${part} is gone, with results of an earlier run in it.`,
      'Remove the .offpeak.json beside it to start anew.',
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
  const drain = async () => {
    if (waitingBytes === 0) return;
    const bytes = Buffer.concat(waiting);
    waiting = [];
    waitingBytes = 0;
    for (let done = 0; done < bytes.length;) {
      const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, size);
      done += bytesWritten;
      size += bytesWritten;
    }
  };
  return {
    async write(line) {
      const bytes = Buffer.from(line);
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

/** Results that go straight to stdout. */
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

import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { sleep } from '../../../base/clock.ts';
import { type FileLock, isLockHeld, lockFile } from '../../../base/file-lock.ts';
import type { PullProgress, PulledFile } from '../../../core/model-file.ts';
import { type RemoteSource, formatSource } from '../../../core/model-source.ts';
import { RemoteFileChanged, ModelFileError, diskFault } from './faults.ts';
import { fetchFile } from './fetch-file.ts';
import type { ModelFileDeps, ModelFs } from './model-file-deps.ts';
import { openPart, partPath, fileSize, statePath } from './part-file.ts';
import { bytesIn } from './ranges.ts';
import { readModelFile } from './read-model.ts';
import { type RemoteFile, probeRemoteFile } from './remote.ts';
import type { RetryCall } from './with-retries.ts';

/** One file of a model, with its source and its destination. */
export interface PlannedFile {
  source: RemoteSource;
  path: string;
  /** Null for a file that is already there. */
  remote: RemoteFile | null;
}

export interface FileCall extends RetryCall {
  sha256: string | undefined;
  onDone: (phase: PullProgress['phase'], bytes: number) => void;
}

/** Restarts because the file changed on the server. */
const maxChanges = 2;
const pollMs = 1000;

/** Fetches one file to its path once it is complete and verified. Waits for another process that is fetching it. */
export async function pullFile(
  { source, path, remote }: PlannedFile,
  deps: ModelFileDeps,
  call: FileCall,
): Promise<PulledFile> {
  const { fs } = deps;
  const { signal, onDone } = call;
  const shown = formatSource(source);
  const part = partPath(path);

  /** The file if it already exists. */
  async function presentFile(): Promise<PulledFile | undefined> {
    const bytes = await fileSize(path, fs);
    if (bytes === null) return undefined;
    if (call.sha256 === undefined) return { path, bytes, sha256: null, present: true };
    const sha256 = await sha256Of(path);
    if (sha256 === call.sha256) return { path, bytes, sha256, present: true };
    throw new ModelFileError(
      `${path} already exists and has the checksum ${sha256}, not ${call.sha256}.`,
      'Delete it to fetch it again.',
    );
  }

  /** Returns undefined while another process holds the lease. */
  async function pullAlone(): Promise<PulledFile | undefined> {
    let lease: Awaited<ReturnType<typeof takeLease>>;
    try {
      lease = await takeLease(path, fs);
      if (!lease) return undefined;
      // The previous holder of the lease may have fetched it.
      return (await presentFile()) ?? (await pullNewest());
    } catch (error) {
      throw diskFault(error, part);
    } finally {
      await lease?.release();
    }
  }

  async function pullNewest(): Promise<PulledFile> {
    let version = remote;
    for (let changes = 0; ; changes++) {
      try {
        return await pullVersion(version ?? (await probeRemoteFile(source, deps, call)));
      } catch (error) {
        if (!(error instanceof RemoteFileChanged)) throw error;
        if (changes === maxChanges)
          throw new ModelFileError(`${shown} keeps changing on the server while it is fetched.`, undefined, {
            cause: error,
          });
        call.onNote(`${shown} changed on the server; fetching it from the start.`);
        version = null;
      }
    }
  }

  async function pullVersion(version: RemoteFile): Promise<PulledFile> {
    const opened = await openPart(path, version, deps);
    try {
      const onBytes = () => onDone('fetching', bytesIn(opened.done));
      onBytes();
      await fetchFile(version, opened, deps, { ...call, onBytes });
      await opened.save();
    } catch (error) {
      // The list of fetched bytes survives; the first error is the one to report.
      await opened.save().catch(() => {});
      throw error;
    } finally {
      await opened.close();
    }
    const sha256 = await checkFetched(call.sha256 ?? version.sha256);
    const bytes = (await fileSize(part, fs)) ?? 0;
    await publish(path, fs);
    return { path, bytes, sha256, present: false };
  }

  /** Verifies the fetched file. Deletes a wrong one, because resuming it would not help. Returns its checksum. */
  async function checkFetched(expected: string | null): Promise<string | null> {
    try {
      await readModelFile(part, fs, shown);
      if (expected === null) return null;
      const found = await sha256Of(part);
      if (found === expected) return found;
      const why = call.sha256 === undefined ? `the hub reports ${expected}` : `${expected} was given`;
      throw new ModelFileError(
        `The checksum of ${shown} is ${found}, but ${why}.`,
        'The file was deleted. Fetch it again, or find out which checksum is right.',
      );
    } catch (error) {
      if (error instanceof ModelFileError) {
        await fs.rm(part, { force: true });
        await fs.rm(statePath(path), { force: true });
      }
      throw error;
    }
  }

  /** Checksum in hexadecimal digits. */
  async function sha256Of(whole: string): Promise<string> {
    const hash = createHash('sha256');
    const handle = await fs.open(whole, 'r');
    let read = 0;
    for await (const chunk of handle.createReadStream({ highWaterMark: 4 * 1024 ** 2 })) {
      signal.throwIfAborted();
      hash.update(chunk as Buffer);
      onDone('checking', (read += (chunk as Buffer).length));
    }
    return hash.digest('hex');
  }

  for (let waited = false; ; waited = true) {
    const pulled = (await presentFile()) ?? (await pullAlone());
    if (pulled) return pulled;
    if (!waited) call.onNote(`Waiting for another process that is fetching ${path}.`);
    onDone('waiting', 0);
    await sleep(deps.clock, pollMs, signal);
    signal.throwIfAborted();
  }
}

async function publish(path: string, fs: ModelFs): Promise<void> {
  await fs.rename(partPath(path), path);
  // Flushing the folder makes the new name durable, where the system supports it.
  const folder = await fs.open(dirname(path), 'r').catch(() => null);
  await folder?.sync().catch(() => {});
  await folder?.close();
  await fs.rm(statePath(path), { force: true });
}

/**
 * Takes the lease of `path`, whose folder exists, by a lock on `<name>.part.lock.db`. Returns undefined while another
 * process, or another pull in this one, holds it. A disk without locks grants every lease.
 */
export async function takeLease(path: string, fs: ModelFs) {
  const lockPath = `${path}.part.lock.db`;
  let lock: FileLock | undefined;
  try {
    lock = lockFile(lockPath);
  } catch (error) {
    // Opening the part file reports any other fault of the folder.
    if (isLockHeld(error)) return undefined;
  }
  return {
    async release() {
      // Removed before the release, because afterwards it may be the lock of another process. Some systems keep open files.
      await fs.rm(lockPath, { force: true }).catch(() => {});
      lock?.release();
    },
  };
}

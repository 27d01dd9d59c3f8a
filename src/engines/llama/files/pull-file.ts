import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { sleep } from '../../../base/clock.ts';
import type { PullProgress, PulledFile } from '../../../core/model-file.ts';
import { type RemoteSource, formatSource } from '../../../core/model-source.ts';
import { RemoteFileChanged, ModelFileError, diskFault } from './faults.ts';
import { fetchFile } from './fetch-file.ts';
import { type Lease, takeLease } from './lease.ts';
import type { ModelFileDeps, ModelFs } from './model-file-deps.ts';
import { openPart, partPath, fileSize, statePath } from './part-file.ts';
import { bytesIn } from './ranges.ts';
import { readModelFile } from './read-model.ts';
import { type RemoteFile, probeRemoteFile } from './remote.ts';
import type { RetryCall } from './with-retries.ts';

/** One file of a model: where it comes from and where it goes. */
export interface PlannedFile {
  source: RemoteSource;
  path: string;
  /** What the server told of it; null when it is here already. */
  remote: RemoteFile | null;
}

export interface FileCall extends RetryCall {
  sha256: string | undefined;
  onDone: (phase: PullProgress['phase'], bytes: number) => void;
}

/** How often a file that changes under way is begun anew. */
const maxChanges = 2;
const askAgainMs = 1000;

/** Brings one file to its path, only when it is whole and what it should be. Another process that is at it is waited for. */
export async function pullFile(
  { source, path, remote }: PlannedFile,
  deps: ModelFileDeps,
  call: FileCall,
): Promise<PulledFile> {
  const { fs } = deps;
  const { signal, onDone } = call;
  const shown = formatSource(source);
  const part = partPath(path);

  /** The file, when it is here already. */
  async function presentFile(): Promise<PulledFile | undefined> {
    const bytes = await fileSize(path, fs);
    if (bytes === null) return undefined;
    if (call.sha256 === undefined) return { path, bytes, sha256: null, present: true };
    const sha256 = await sha256Of(path);
    if (sha256 === call.sha256) return { path, bytes, sha256, present: true };
    throw new ModelFileError(
      `${path} is here already and has the checksum ${sha256}, not ${call.sha256}.`,
      'Remove it to fetch it again.',
    );
  }

  /** Undefined while another is at it. */
  async function pullAlone(): Promise<PulledFile | undefined> {
    let lease: Lease | undefined;
    try {
      lease = await takeLease(path, fs);
      if (!lease) return undefined;
      // Whoever had the lease before may have brought it.
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
          throw new ModelFileError(`${shown} changes faster than it can be fetched.`, undefined, {
            cause: error,
          });
        call.onNote(`${shown} changed on the server and is begun anew.`);
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
      // So that nothing is fetched twice; what stopped the work is what is told.
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

  /** Refuses what is not the file that was meant, and keeps nothing of it: going on with it would bring the same. */
  async function checkFetched(expected: string | null): Promise<string | null> {
    try {
      await readModelFile(part, fs, shown);
      if (expected === null) return null;
      const found = await sha256Of(part);
      if (found === expected) return found;
      const why = call.sha256 === undefined ? `the hub tells ${expected}` : `${expected} was given`;
      throw new ModelFileError(
        `${shown} came with the checksum ${found}, but ${why}.`,
        'It was removed. Fetch it again, or find out which of the two is right.',
      );
    } catch (error) {
      if (error instanceof ModelFileError) {
        await fs.rm(part, { force: true });
        await fs.rm(statePath(path), { force: true });
      }
      throw error;
    }
  }

  /** In hexadecimal digits. */
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
    if (!waited) call.onNote(`Waiting for another process, which fetches ${path}.`);
    onDone('waiting', 0);
    await sleep(deps.clock, askAgainMs, signal);
    signal.throwIfAborted();
  }
}

async function publish(path: string, fs: ModelFs): Promise<void> {
  await fs.rename(partPath(path), path);
  // A new name is durable when its folder is flushed. Not every system can.
  const folder = await fs.open(dirname(path), 'r').catch(() => null);
  await folder?.sync().catch(() => {});
  await folder?.close();
  await fs.rm(statePath(path), { force: true });
}

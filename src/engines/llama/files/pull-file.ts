import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { sleep } from '../../../base/clock.ts';
import type { PulledFile } from '../../../core/model-file.ts';
import { Changed, ModelFileError, diskFault } from './faults.ts';
import { type FetchDeps, fetchFile } from './fetch-file.ts';
import { type Lease, takeLease } from './lease.ts';
import { type ModelFs, openPart, partOf, stateOf } from './part-file.ts';
import { bytesIn } from './ranges.ts';
import { readModelFile } from './read-model.ts';
import type { RemoteFile } from './remote.ts';
import type { RetryCall } from './retried.ts';

export interface PullDeps extends FetchDeps {
  fs: ModelFs;
}

export interface FileCall extends RetryCall {
  sha256: string | undefined;
  /** How the source is written, for messages. */
  shown: string;
  /** Asks the server about the file. */
  look: () => Promise<RemoteFile>;
  onDone: (phase: 'waiting' | 'fetching' | 'checking', bytes: number) => void;
}

/** How often a file that changes under way is begun anew. */
const mostChanges = 2;
const askAgainMs = 1000;

/**
 * Brings one file to `path`, under its name only when it is whole and what it should be. Another process that is at it
 * is waited for.
 * @param file what the server told of it, where it was asked already
 */
export async function pullFile(
  path: string,
  file: RemoteFile | null,
  deps: PullDeps,
  call: FileCall,
): Promise<PulledFile> {
  for (let waited = false; ; waited = true) {
    const present = await presentFile(path, deps, call);
    if (present) return present;
    const pulled = await pullAlone(path, file, deps, call);
    if (pulled) return pulled;
    if (!waited) call.onNote(`Waiting for another process, which fetches ${path}.`);
    call.onDone('waiting', 0);
    await sleep(deps.clock, askAgainMs, call.signal);
    call.signal.throwIfAborted();
  }
}

export async function sizeOf(path: string, fs: ModelFs): Promise<number | null> {
  const found = await fs.stat(path).catch(() => null);
  return found?.isFile() === true ? found.size : null;
}

/** The file, when it is here already. */
async function presentFile(path: string, { fs }: PullDeps, call: FileCall): Promise<PulledFile | undefined> {
  const bytes = await sizeOf(path, fs);
  if (bytes === null) return undefined;
  if (call.sha256 === undefined) return { path, bytes, sha256: null, present: true };
  const sha256 = await sha256Of(path, fs, call);
  if (sha256 === call.sha256) return { path, bytes, sha256, present: true };
  throw new ModelFileError(
    `${path} is here already and has the checksum ${sha256}, not ${call.sha256}.`,
    'Remove it to fetch it again.',
  );
}

/** Undefined while another is at it. */
async function pullAlone(
  path: string,
  file: RemoteFile | null,
  deps: PullDeps,
  call: FileCall,
): Promise<PulledFile | undefined> {
  let lease: Lease | undefined;
  try {
    lease = await takeLease(path, deps.fs);
    if (!lease) return undefined;
    // Whoever had the lease before may have brought it.
    return (await presentFile(path, deps, call)) ?? (await pullNewest(path, file, deps, call));
  } catch (error) {
    throw diskFault(error, partOf(path));
  } finally {
    await lease?.release();
  }
}

async function pullNewest(
  path: string,
  file: RemoteFile | null,
  deps: PullDeps,
  call: FileCall,
): Promise<PulledFile> {
  let version = file;
  for (let changes = 0; ; changes++) {
    try {
      return await pullVersion(path, version ?? (await call.look()), deps, call);
    } catch (error) {
      if (!(error instanceof Changed)) throw error;
      if (changes === mostChanges)
        throw new ModelFileError(`${call.shown} changes faster than it can be fetched.`, undefined, {
          cause: error,
        });
      call.onNote(`${call.shown} changed on the server and is begun anew.`);
      version = null;
    }
  }
}

async function pullVersion(
  path: string,
  file: RemoteFile,
  deps: PullDeps,
  call: FileCall,
): Promise<PulledFile> {
  const { fs } = deps;
  const part = await openPart(path, file, deps);
  try {
    const onBytes = () => call.onDone('fetching', bytesIn(part.done));
    onBytes();
    await fetchFile(file, part, deps, { ...call, onBytes });
    await part.save();
  } catch (error) {
    // So that nothing is fetched twice; what stopped the work is what is told.
    await part.save().catch(() => {});
    throw error;
  } finally {
    await part.close();
  }
  const sha256 = await checkFetched(path, file, deps, call);
  const bytes = (await sizeOf(partOf(path), fs)) ?? 0;
  await publish(path, fs);
  return { path, bytes, sha256, present: false };
}

/** Refuses what is not the file that was meant, and keeps nothing of it: going on with it would bring the same. */
async function checkFetched(
  path: string,
  file: RemoteFile,
  { fs }: PullDeps,
  call: FileCall,
): Promise<string | null> {
  const part = partOf(path);
  const expected = call.sha256 ?? file.sha256;
  try {
    await readModelFile(part, fs, call.shown);
    if (expected === null) return null;
    const found = await sha256Of(part, fs, call);
    if (found === expected) return found;
    const why = call.sha256 === undefined ? `the hub tells ${expected}` : `${expected} was given`;
    throw new ModelFileError(
      `${call.shown} came with the checksum ${found}, but ${why}.`,
      'It was removed. Fetch it again, or find out which of the two is right.',
    );
  } catch (error) {
    if (error instanceof ModelFileError) {
      await fs.rm(part, { force: true });
      await fs.rm(stateOf(path), { force: true });
    }
    throw error;
  }
}

/** In hexadecimal digits. */
async function sha256Of(path: string, fs: ModelFs, { signal, onDone }: FileCall): Promise<string> {
  const hash = createHash('sha256');
  const handle = await fs.open(path, 'r');
  let read = 0;
  for await (const chunk of handle.createReadStream({ highWaterMark: 4 * 1024 ** 2 })) {
    signal.throwIfAborted();
    hash.update(chunk as Buffer);
    onDone('checking', (read += (chunk as Buffer).length));
  }
  return hash.digest('hex');
}

async function publish(path: string, fs: ModelFs): Promise<void> {
  await fs.rename(partOf(path), path);
  // A new name is durable when its folder is flushed. Not every system can.
  const folder = await fs.open(dirname(path), 'r').catch(() => null);
  await folder?.sync().catch(() => {});
  await folder?.close();
  await fs.rm(stateOf(path), { force: true });
}

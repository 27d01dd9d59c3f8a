import { dirname } from 'node:path';
import type { PullRequest, PulledFile, PulledModel } from '../../../core/model-file.ts';
import { type RemoteSource, showSource } from '../../../core/model-source.ts';
import { checkSpace } from './disk-space.ts';
import { ModelFileError } from './faults.ts';
import { shareDone } from './part-file.ts';
import { localPath, partSources, urlOf } from './places.ts';
import { type PullDeps, pullFile, sizeOf } from './pull-file.ts';
import { type RemoteFile, lookAt } from './remote.ts';
import { type RetryCall, retried } from './retried.ts';

export interface ModelDeps extends PullDeps {
  /** Where fetched models stand. */
  folder: string;
  hubEndpoint: string;
}

/** One file of a model: where it comes from and where it goes. */
interface PlannedFile {
  source: RemoteSource;
  path: string;
  /** Null when it is here already. */
  remote: RemoteFile | null;
  /** Null when the server does not say. */
  size: number | null;
}

/** Brings all files of a model that are not here yet, after a look at every one of them and at the disk. */
export async function pullModel(request: PullRequest, deps: ModelDeps): Promise<PulledModel> {
  const { source, to, sha256, signal, onProgress = () => {}, onNote = () => {} } = request;
  const sources = partSources(source);
  if (sha256 !== undefined && sources.length > 1)
    throw new ModelFileError('A split model has a checksum for each file, so one cannot be given for all.');
  const call = { signal, onNote };
  const plan: PlannedFile[] = [];
  for (const one of sources) plan.push(await planFile(one, localPath(one, deps.folder, to), deps, call));
  checkGiven(plan, sha256);
  await checkSpace(dirname(plan[0]!.path), await bytesMissing(plan, deps), deps.fs);

  const total = plan.reduce<number | null>(
    (sum, { size }) => (sum === null || size === null ? null : sum + size),
    0,
  );
  const files: PulledFile[] = [];
  for (const [index, planned] of plan.entries()) {
    const before = files.reduce((sum, { bytes }) => sum + bytes, 0);
    const at = { file: planned.path, part: index + 1, parts: plan.length, total };
    const pulled = await pullFile(planned.path, planned.remote, deps, {
      ...call,
      sha256,
      shown: showSource(planned.source),
      look: () => lookAgain(planned.source, deps, call),
      onDone: (phase, bytes) => onProgress({ ...at, phase, done: before + bytes }),
    });
    files.push(pulled);
  }
  return { path: files[0]!.path, files };
}

async function planFile(
  source: RemoteSource,
  path: string,
  deps: ModelDeps,
  call: RetryCall,
): Promise<PlannedFile> {
  const here = await sizeOf(path, deps.fs);
  if (here !== null) return { source, path, remote: null, size: here };
  const remote = await lookAgain(source, deps, call);
  return { source, path, remote, size: remote.size };
}

function lookAgain(source: RemoteSource, deps: ModelDeps, call: RetryCall): Promise<RemoteFile> {
  return retried(deps, call, () => lookAt(deps.web, urlOf(source, deps.hubEndpoint), call.signal));
}

/** What the hub tells already is not fetched first. */
function checkGiven(plan: readonly PlannedFile[], sha256: string | undefined): void {
  const [only] = plan;
  const told = only?.remote?.sha256 ?? null;
  if (sha256 === undefined || told === null || told === sha256) return;
  throw new ModelFileError(
    `The hub tells the checksum ${told} for ${showSource(only!.source)}, but ${sha256} was given.`,
    'Nothing was fetched.',
  );
}

async function bytesMissing(plan: readonly PlannedFile[], { fs }: ModelDeps): Promise<number> {
  let bytes = 0;
  for (const { path, remote, size } of plan) {
    if (remote === null || size === null) continue;
    bytes += Math.ceil(size * (1 - ((await shareDone(path, fs)) ?? 0)));
  }
  return bytes;
}

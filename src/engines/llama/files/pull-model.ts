import { dirname } from 'node:path';
import type { PullRequest, PulledFile, PulledModel } from '../../../core/model-file.ts';
import { type RemoteSource, showSource } from '../../../core/model-source.ts';
import { checkSpace } from './disk-space.ts';
import { ModelFileError } from './faults.ts';
import type { ModelDeps } from './fetch-file.ts';
import { shareDone } from './part-file.ts';
import { localPath, partSources, urlOf } from './places.ts';
import { pullFile, sizeOf } from './pull-file.ts';
import { type RemoteFile, lookAt } from './remote.ts';
import { retried } from './retried.ts';

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
  const { folder, fs } = deps;
  const sources = partSources(source);
  if (sha256 !== undefined && sources.length > 1)
    throw new ModelFileError('A split model has a checksum for each file, so one cannot be given for all.');
  const call = { signal, onNote };
  const look = (one: RemoteSource) =>
    retried(deps, call, () => lookAt(deps.web, urlOf(one, deps.hubEndpoint), signal));
  const plan: PlannedFile[] = [];
  let missing = 0;
  for (const one of sources) {
    const path = localPath(one, folder, to);
    const here = await sizeOf(path, fs);
    const remote = here === null ? await look(one) : null;
    plan.push({ source: one, path, remote, size: here ?? remote?.size ?? null });
    if (remote?.size) missing += Math.ceil(remote.size * (1 - ((await shareDone(path, fs)) ?? 0)));
  }
  checkGiven(plan[0]!, sha256);
  await checkSpace(dirname(plan[0]!.path), missing, fs);

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
      look: () => look(planned.source),
      onDone: (phase, bytes) => onProgress({ ...at, phase, done: before + bytes }),
    });
    files.push(pulled);
  }
  return { path: files[0]!.path, files };
}

/** What the hub tells already is not fetched first. */
function checkGiven({ source, remote }: PlannedFile, sha256: string | undefined): void {
  const told = remote?.sha256 ?? null;
  if (sha256 === undefined || told === null || told === sha256) return;
  throw new ModelFileError(
    `The hub tells the checksum ${told} for ${showSource(source)}, but ${sha256} was given.`,
    'Nothing was fetched.',
  );
}

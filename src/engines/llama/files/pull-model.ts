import { dirname } from 'node:path';
import { formatBytes } from '../../../base/bytes.ts';
import { sum } from '../../../base/sum.ts';
import type { PullRequest, PulledFile, PulledModel } from '../../../core/model-file.ts';
import { formatSource } from '../../../core/model-source.ts';
import { ModelFileError, diskFault } from './faults.ts';
import type { ModelFileDeps, ModelFs } from './model-file-deps.ts';
import { shareDone, fileSize } from './part-file.ts';
import { localPath, partSources } from './paths.ts';
import { type FileCall, type PlannedFile, pullFile } from './pull-file.ts';
import { probeRemoteFile } from './remote.ts';

/** Left to others on the same disk: their logs and databases have to go on. */
const spareBytes = 64 * 1024 ** 2;

/** Brings all files of a model that are not here yet, after a look at every one of them and at the disk. */
export async function pullModel(request: PullRequest, deps: ModelFileDeps): Promise<PulledModel> {
  const { source, to, sha256, signal, onProgress = () => {}, onNote = () => {} } = request;
  const { folder, fs } = deps;
  const sources = partSources(source);
  if (sha256 !== undefined && sources.length > 1)
    throw new ModelFileError('A split model has a checksum for each file, so one cannot be given for all.');
  const call = { signal, onNote };
  const plan: PlannedFile[] = [];
  const sizes: (number | null)[] = [];
  let missing = 0;
  for (const one of sources) {
    const path = localPath(one, folder, to);
    const here = await fileSize(path, fs);
    const remote = here === null ? await probeRemoteFile(one, deps, call) : null;
    plan.push({ source: one, path, remote });
    sizes.push(here ?? remote?.size ?? null);
    if (remote?.size) missing += Math.ceil(remote.size * (1 - (await shareDone(path, fs))));
  }
  checkGiven(plan[0]!, sha256);
  await checkSpace(dirname(plan[0]!.path), missing, fs);

  const told = sizes.filter((size) => size !== null);
  const total = told.length < sizes.length ? null : sum(told);
  const files: PulledFile[] = [];
  for (const [index, planned] of plan.entries()) {
    const before = sum(files.map(({ bytes }) => bytes));
    const at = { file: planned.path, part: index + 1, parts: plan.length, total };
    const onDone: FileCall['onDone'] = (phase, bytes) => onProgress({ ...at, phase, done: before + bytes });
    files.push(await pullFile(planned, deps, { ...call, sha256, onDone }));
  }
  return { path: files[0]!.path, files };
}

/** What the hub tells already is not fetched first. */
function checkGiven({ source, remote }: PlannedFile, sha256: string | undefined): void {
  const told = remote?.sha256 ?? null;
  if (sha256 === undefined || told === null || told === sha256) return;
  throw new ModelFileError(
    `The hub tells the checksum ${told} for ${formatSource(source)}, but ${sha256} was given.`,
    'Nothing was fetched.',
  );
}

/** Makes `folder`, and refuses to begin what cannot end: `bytes` more have to fit on its disk. */
async function checkSpace(folder: string, bytes: number, fs: ModelFs): Promise<void> {
  await fs.mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw diskFault(error, folder);
  });
  const { bavail, bsize } = await fs.statfs(folder);
  const free = bavail * bsize;
  if (bytes === 0 || bytes + spareBytes <= free) return;
  throw new ModelFileError(
    `${formatBytes(bytes)} are still to be fetched, but only ${formatBytes(free)} are free in ${folder}.`,
    'Make room, or choose another folder.',
  );
}

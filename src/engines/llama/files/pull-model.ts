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

/** Left free on the disk, for logs and databases. */
const spareBytes = 64 * 1024 ** 2;

/** Fetches the missing files of a model, after a check of all of them and of the free space. */
export async function pullModel(request: PullRequest, deps: ModelFileDeps): Promise<PulledModel> {
  const { source, to, sha256, signal, onProgress = () => {}, onNote = () => {} } = request;
  const { folder, fs } = deps;
  const sources = partSources(source);
  if (sha256 !== undefined && sources.length > 1)
    throw new ModelFileError(
      'A split model has one checksum for each file, so a single checksum cannot be given.',
    );
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

  const known = sizes.filter((size) => size !== null);
  const total = known.length < sizes.length ? null : sum(known);
  const files: PulledFile[] = [];
  for (const [index, planned] of plan.entries()) {
    const before = sum(files.map(({ bytes }) => bytes));
    const at = { file: planned.path, part: index + 1, parts: plan.length, total };
    const onDone: FileCall['onDone'] = (phase, bytes) => onProgress({ ...at, phase, done: before + bytes });
    files.push(await pullFile(planned, deps, { ...call, sha256, onDone }));
  }
  return { path: files[0]!.path, files };
}

/** Compares the checksums before the download where the hub reports one. */
function checkGiven({ source, remote }: PlannedFile, sha256: string | undefined): void {
  const reported = remote?.sha256 ?? null;
  if (sha256 === undefined || reported === null || reported === sha256) return;
  throw new ModelFileError(
    `The hub reports the checksum ${reported} for ${formatSource(source)}, but ${sha256} was given.`,
    'Nothing was fetched.',
  );
}

/** Creates `folder` and requires room for `bytes` more on its disk. */
async function checkSpace(folder: string, bytes: number, fs: ModelFs): Promise<void> {
  await fs.mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw diskFault(error, folder);
  });
  const { bavail, bsize } = await fs.statfs(folder);
  const free = bavail * bsize;
  if (bytes === 0 || bytes + spareBytes <= free) return;
  throw new ModelFileError(
    `${formatBytes(bytes)} still have to be fetched, but only ${formatBytes(free)} are free in ${folder}.`,
    'Free some space, or choose another folder.',
  );
}

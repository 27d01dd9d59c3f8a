import { showBytes } from '../../../base/bytes.ts';
import { ModelFileError, diskFault } from './faults.ts';
import type { ModelFs } from './model-deps.ts';

/** Left to others on the same disk: their logs and databases have to go on. */
const spareBytes = 64 * 1024 ** 2;

/** Makes `folder`, and refuses to begin what cannot end: `bytes` more have to fit on its disk. */
export async function checkSpace(folder: string, bytes: number, fs: ModelFs): Promise<void> {
  await fs.mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw diskFault(error, folder);
  });
  const { bavail, bsize } = await fs.statfs(folder);
  const free = bavail * bsize;
  if (bytes === 0 || bytes + spareBytes <= free) return;
  throw new ModelFileError(
    `${showBytes(bytes)} are still to be fetched, but only ${showBytes(free)} are free in ${folder}.`,
    'Make room, or choose another folder.',
  );
}

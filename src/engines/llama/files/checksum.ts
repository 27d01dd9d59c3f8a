import { createHash } from 'node:crypto';
import type { ModelFs } from './part-file.ts';

export interface CheckCall {
  fs: ModelFs;
  signal: AbortSignal;
  onChecked: (bytes: number) => void;
}

/** The SHA-256 of a file, in hexadecimal digits. */
export async function sha256Of(path: string, { fs, signal, onChecked }: CheckCall): Promise<string> {
  const hash = createHash('sha256');
  const handle = await fs.open(path, 'r');
  let read = 0;
  for await (const chunk of handle.createReadStream({ highWaterMark: 4 * 1024 ** 2 })) {
    signal.throwIfAborted();
    hash.update(chunk as Buffer);
    onChecked((read += (chunk as Buffer).length));
  }
  return hash.digest('hex');
}

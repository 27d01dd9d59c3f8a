import { createHash } from 'node:crypto';
import { GgufFault } from '../gguf/cursor.ts';
import { fileBytes } from '../gguf/byte-source.ts';
import { readGgufHeader } from '../gguf/header.ts';
import { ModelFileError } from './faults.ts';
import type { ModelFs } from './part-file.ts';

export interface CheckCall {
  fs: ModelFs;
  signal: AbortSignal;
  onChecked?: (bytes: number) => void;
}

/** The SHA-256 of a file, in hexadecimal digits. */
export async function sha256Of(path: string, { fs, signal, onChecked }: CheckCall): Promise<string> {
  const hash = createHash('sha256');
  const handle = await fs.open(path, 'r');
  try {
    const buffer = Buffer.allocUnsafe(4 * 1024 ** 2);
    for (let at = 0; ;) {
      signal.throwIfAborted();
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, at);
      if (bytesRead === 0) return hash.digest('hex');
      hash.update(buffer.subarray(0, bytesRead));
      at += bytesRead;
      onChecked?.(at);
    }
  } finally {
    await handle.close();
  }
}

/**
 * Makes sure that a file is a GGUF model and holds all the weights that its header tells of.
 * @param source for the message
 */
export async function checkWhole(path: string, source: string, fs: ModelFs): Promise<void> {
  const handle = await fs.open(path, 'r');
  try {
    const { size } = await handle.stat();
    const { fileBytes: least } = await readGgufHeader(fileBytes(handle));
    if (least !== null && size < least)
      throw new GgufFault(`it has ${size} bytes and its weights would end at ${least}`);
  } catch (error) {
    if (!(error instanceof GgufFault)) throw error;
    throw new ModelFileError(`${source} is not a whole GGUF model file: ${error.message}.`);
  } finally {
    await handle.close();
  }
}

import { createReadStream } from 'node:fs';
import { isMissingFile } from '../../../base/missing-file.ts';
import { GgufFault } from '../gguf/cursor.ts';
import { type GgufHeader, readGgufHeader } from '../gguf/header.ts';
import { ModelFileError } from './faults.ts';
import type { ModelFs } from './model-file-deps.ts';
import { partPaths } from './paths.ts';

/** Bytes of one read: most headers have some megabytes. */
const pieceBytes = 1024 ** 2;

export interface ReadFile {
  header: GgufHeader;
  bytes: number;
}

/** Headers of all files of a model, in order, and the size of all files. */
export interface ReadModel {
  headers: GgufHeader[];
  bytes: number;
}

/** Reads the headers of all files of a model, of which `path` is one. @throws ModelFileError also for a truncated file */
export function readModel(path: string, fs: Pick<ModelFs, 'stat'>): Promise<ReadModel> {
  return readParts(partPaths(path), (part) => readModelFile(part, fs));
}

export async function readParts<Part>(
  parts: readonly Part[],
  read: (part: Part) => Promise<ReadFile>,
): Promise<ReadModel> {
  const model: ReadModel = { headers: [], bytes: 0 };
  for (const part of parts) {
    const { header, bytes } = await read(part);
    model.headers.push(header);
    model.bytes += bytes;
  }
  return model;
}

/** @param shown name of the file in messages @throws ModelFileError */
export async function readModelFile(path: string, fs: Pick<ModelFs, 'stat'>, shown = path) {
  const bytes = await bytesOf(path, fs);
  const header = await named(shown, () =>
    readGgufHeader(createReadStream(path, { highWaterMark: pieceBytes })),
  );
  if (header.fileBytes !== null && bytes < header.fileBytes)
    throw new ModelFileError(
      `${shown} is truncated: it has ${bytes} of ${header.fileBytes} bytes.`,
      'Fetch it again.',
    );
  return { header, bytes };
}

/** Adds the name of the file to a fault of its format. */
export async function named<T>(name: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof GgufFault)
      throw new ModelFileError(`${name} is not a GGUF model file: ${error.message}.`);
    throw error;
  }
}

async function bytesOf(path: string, fs: Pick<ModelFs, 'stat'>): Promise<number> {
  const found = await fs.stat(path).catch((cause: unknown) => {
    const why = isMissingFile(cause)
      ? `There is no file ${path}.`
      : `${path} cannot be read: ${String(cause)}.`;
    throw new ModelFileError(why, undefined, { cause });
  });
  if (found.isFile()) return found.size;
  throw new ModelFileError(`${path} is not a file.`);
}

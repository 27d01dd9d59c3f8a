import type { Dirent } from 'node:fs';
import { join } from 'node:path';
import { sum } from '../../../base/sum.ts';
import type { LocalModel } from '../../../core/model-file.ts';
import { countParameters, findQuantization } from './describe.ts';
import type { ModelFs } from '../files/model-file-deps.ts';
import { shareDone, fileSize } from '../files/part-file.ts';
import { partNames, partPaths } from '../files/paths.ts';
import { readModel } from '../files/read-model.ts';

/** Models in a folder and its subfolders, complete or partly fetched, sorted by path. */
export async function localModels(folder: string, fs: ModelFs): Promise<LocalModel[]> {
  const entries: Dirent[] = await fs
    .readdir(folder, { recursive: true, withFileTypes: true })
    .catch(() => []);
  const paths = new Set<string>();
  for (const entry of entries) {
    const name = entry.name.replace(/\.part$/, '');
    if (entry.isFile() && /\.gguf$/i.test(name)) paths.add(join(entry.parentPath, partNames(name)[0]!));
  }
  const models: LocalModel[] = [];
  for (const path of [...paths].toSorted()) models.push(await localModel(path, fs));
  return models;
}

async function localModel(path: string, fs: ModelFs): Promise<LocalModel> {
  const files = partPaths(path);
  const sizes = await Promise.all(files.map((file) => fileSize(file, fs)));
  const here = sizes.filter((size) => size !== null);
  const model: LocalModel = {
    path,
    bytes: sum(here),
    parts: files.length > 1 ? { here: here.length, of: files.length } : null,
    unfinished: null,
    architecture: null,
    quantization: null,
    parameters: null,
    fault: null,
  };
  if (here.length < files.length) {
    const shares = await Promise.all(
      files.map(async (file, index) => (sizes[index] === null ? shareDone(file, fs) : 1)),
    );
    return { ...model, unfinished: sum(shares) / files.length };
  }
  try {
    const { headers } = await readModel(path, fs);
    const architecture = headers[0]!.metadata.get('general.architecture');
    return {
      ...model,
      architecture: typeof architecture === 'string' ? architecture : 'unknown',
      quantization: findQuantization(headers),
      parameters: countParameters(headers),
    };
  } catch (error) {
    return { ...model, fault: error instanceof Error ? error.message : String(error) };
  }
}

import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Creates a folder and its missing parents. Node's own `recursive` loops forever where an existing folder answers ENOENT, as
 * /proc does.
 * @throws the error of `mkdir`
 */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EEXIST' && (await isFolder(path))) return;
    const above = dirname(path);
    if (code !== 'ENOENT' || above === path || (await isFolder(above))) throw error;
    await makeFolder(above, mode);
    await makeFolder(path, mode);
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}

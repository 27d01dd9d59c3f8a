import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeGguf } from '../engines/llama/gguf-writer.ts';
import { writeRandomModel } from '../engines/llama/random-model.ts';

/** Returns a GGUF file with about `megabytes` of weights, which differ with `seed`. */
export function bigGguf(megabytes: number, seed = 1): Buffer {
  const count = Math.round(megabytes * 256) * 1024;
  const data = new Float32Array(count);
  for (let i = 0, x = seed; i < count; i++) {
    x = (Math.imul(x, 1_664_525) + 1_013_904_223) | 0;
    data[i] = x / 2 ** 31;
  }
  return written((path) =>
    writeGguf(
      path,
      {
        'general.architecture': { type: 'string', value: 'llama' },
        'general.name': { type: 'string', value: `big ${seed}` },
        'llama.block_count': { type: 'u32', value: 2 },
      },
      [{ name: 'weights', dimensions: [count], type: 'F32', data }],
    ),
  );
}

/** Returns a small model that the engine can load. */
export function loadableGguf(): Buffer {
  return written((path) => writeRandomModel(path));
}

function written(write: (path: string) => void): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'offpeak-gguf-'));
  try {
    const path = join(folder, 'model.gguf');
    write(path);
    return readFileSync(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

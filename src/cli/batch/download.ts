import { createReadStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { sleep } from '../../base/clock.ts';
import type { Clock } from '../../base/clock.ts';
import type { Client } from '../../client/client.ts';
import { Unreachable } from '../../client/errors.ts';
import type { ResultStream } from '../../core/batch.ts';
import { parseLine, splitLines } from '../../base/byte-lines.ts';

const attempts = 5;
const retryPauseMs = 1000;

/**
 * Writes the lines of one result stream to `path`, in the order of `customIds`; no file is left when there are none.
 * A connection that breaks is taken up again behind the last whole line.
 * @returns how many lines were written
 */
export async function downloadOrdered(
  from: { client: Client; clock: Clock; batchId: string; stream: ResultStream },
  path: string,
  customIds: readonly string[],
): Promise<number> {
  const part = `${path}.part`;
  const raw = await open(part, 'w');
  try {
    const count = await download(from, raw);
    await raw.sync();
    if (count === 0) {
      await rm(path, { force: true });
      return 0;
    }
    await writeOrdered(part, path, customIds);
    return count;
  } finally {
    await raw.close();
    await rm(part, { force: true });
  }
}

async function download(
  from: { client: Client; clock: Clock; batchId: string; stream: ResultStream },
  raw: FileHandle,
): Promise<number> {
  let lines = 0;
  for (let attempt = 1; ; attempt++) {
    try {
      const results = await from.client.batches.results(from.batchId, from.stream, { after: lines });
      for await (const line of splitLines(results.bytes)) {
        if (!line.whole)
          throw new Unreachable(from.client.baseUrl, 'the results broke off in the middle of a line');
        await raw.write(line.bytes);
        await raw.write('\n');
        lines++;
      }
      return lines;
    } catch (error) {
      if (!(error instanceof Unreachable) || attempt === attempts) throw error;
      await sleep(from.clock, retryPauseMs * attempt);
    }
  }
}

interface Place {
  offset: number;
  length: number;
}

/** The server answers in the order in which lines finished; people want the order in which they asked. */
async function writeOrdered(part: string, path: string, customIds: readonly string[]): Promise<void> {
  const places = new Map<string, Place>();
  for await (const line of splitLines(createReadStream(part))) {
    const id = parseLine(line.bytes)?.custom_id;
    places.set(typeof id === 'string' ? id : `\0${line.offset}`, {
      offset: line.offset,
      length: line.bytes.length,
    });
  }
  const ordered = customIds.flatMap((id) => {
    const place = places.get(id);
    places.delete(id);
    return place ?? [];
  });
  const source = await open(part, 'r');
  const target = await open(`${path}.tmp`, 'w');
  try {
    // What the input does not name (it cannot happen with our server) is kept all the same, at the end.
    for (const { offset, length } of [...ordered, ...places.values()]) {
      const bytes = Buffer.alloc(length + 1, '\n');
      await source.read(bytes, 0, length, offset);
      await target.write(bytes);
    }
    await target.sync();
  } finally {
    await source.close();
    await target.close();
  }
  await rename(`${path}.tmp`, path);
}

import { createReadStream, readSync, writevSync } from 'node:fs';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { parseLine, splitLines } from '../../../base/byte-lines.ts';
import { sleep, type Clock } from '../../../base/clock.ts';
import type { Client } from '../../../client/client.ts';
import { Unreachable } from '../../../client/errors.ts';
import type { ResultStream } from '../../../core/batch.ts';

const attempts = 5;
const retryPauseMs = 1000;
const newline = Buffer.from('\n');

export interface ResultsOf {
  client: Client;
  clock: Clock;
  batchId: string;
}

export interface DownloadOptions extends ResultsOf {
  streams: readonly ResultStream[];
  /** Order of the requests. */
  customIds: AsyncIterable<string>;
}

/**
 * Result lines of a batch, with their newlines, in the order of its requests. They are stored in the file `scratch`
 * meanwhile.
 */
export async function* orderedResults(wanted: DownloadOptions, scratch: string): AsyncGenerator<Uint8Array> {
  const raw = await open(scratch, 'w+', 0o600);
  try {
    for (const stream of wanted.streams)
      for await (const line of resultLines(wanted, stream)) writevSync(raw.fd, [line, newline]);
    const spans = await findLines(scratch);
    for await (const id of wanted.customIds) {
      const span = spans.get(id);
      if (span === undefined) continue;
      spans.delete(id);
      yield readLine(raw, span);
    }
    // Unknown ids, which an Offpeak server never returns, follow at the end.
    for (const span of spans.values()) yield readLine(raw, span);
  } finally {
    await raw.close();
    await rm(scratch, { force: true });
  }
}

/** Result lines of a batch in the order of completion. After a broken connection, the download resumes after the last complete line. */
export async function* resultLines(
  { client, clock, batchId }: ResultsOf,
  stream: ResultStream,
): AsyncGenerator<Uint8Array> {
  let lines = 0;
  for (let attempt = 1; ; attempt++) {
    try {
      const results = await client.batches.results(batchId, stream, lines);
      for await (const line of splitLines(results.bytes)) {
        if (!line.whole) throw new Unreachable(client.baseUrl, 'the results ended in the middle of a line');
        lines++;
        yield line.bytes;
      }
      return;
    } catch (error) {
      if (!(error instanceof Unreachable) || attempt === attempts) throw error;
      await sleep(clock, retryPauseMs * attempt);
    }
  }
}

interface LineSpan {
  offset: number;
  /** Including the newline. */
  length: number;
}

async function findLines(path: string): Promise<Map<string, LineSpan>> {
  const spans = new Map<string, LineSpan>();
  for await (const { bytes, offset } of splitLines(createReadStream(path))) {
    const id = parseLine(bytes)?.custom_id;
    spans.set(typeof id === 'string' ? id : `\0${offset}`, { offset, length: bytes.length + 1 });
  }
  return spans;
}

/** Reads synchronously: the file was just written and is in the page cache. */
function readLine({ fd }: FileHandle, { offset, length }: LineSpan): Uint8Array {
  const bytes = Buffer.alloc(length);
  readSync(fd, bytes, 0, length, offset);
  return bytes;
}

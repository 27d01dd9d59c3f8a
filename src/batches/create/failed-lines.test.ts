import { expect, it } from 'vitest';
import { makeBatch, makeFile } from '../../../test/store/fixtures.ts';
import { lineRequestId } from '../../core/request-group.ts';
import { failedLines, type FailedLinesDeps } from './failed-lines.ts';

const lines = ['one', 'twö', '', 'four', 'five'];
const content = new TextEncoder().encode(lines.map((line) => `${line}\n`).join(''));

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

it.each([1, 2, 3, 5, 7, 100])('cuts out the failed lines in order, from chunks of %i bytes', async (size) => {
  const batch = makeBatch({ status: 'completed', err: 3 });
  const starts = lines.map((_, at) => Buffer.byteLength(lines.slice(0, at).join('')) + at);
  const index = { offset: starts, length: lines.map((line) => Buffer.byteLength(line)) };
  const deps = {
    store: { files: { get: async () => makeFile() } },
    files: { index: async () => index, read: async () => inPieces(content, size) },
    now: 0,
  } as unknown as FailedLinesDeps;
  const errors = [4, 1, 3]
    .map((line) => JSON.stringify({ id: lineRequestId({ batchId: batch.id, line }) }))
    .join('\n');
  const cut: Uint8Array[] = [];
  for await (const piece of await failedLines(deps, batch, inPieces(Buffer.from(errors), size)))
    cut.push(piece);
  expect(Buffer.concat(cut).toString()).toBe('twö\nfour\nfive\n');
});

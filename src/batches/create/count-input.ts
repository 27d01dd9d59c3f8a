import type { Clock } from '../../base/clock.ts';
import type { Blobs } from '../../blobs/blobs.ts';
import type { LineRef } from '../../core/batch.ts';
import type { Catalog, Model } from '../../core/model.ts';
import { lineRefAt } from '../../files/input-index.ts';
import type { Inference } from '../../inference/inference.ts';
import { fileParts } from '../../wire/file/file-parts.ts';
import { ChunkLines, readAhead } from '../lines/chunk-lines.ts';
import { fileInput } from '../lines/line-input.ts';
import type { BatchInput } from './batch-input.ts';

/** Lines read ahead and counted at a time. */
const atOnce = 16;
/** Time after which the remaining lines are not counted. */
const maxMs = 5_000;

export interface CountDeps {
  blobs: Blobs;
  clock: Clock;
  catalog: Catalog;
  inference: Pick<Inference, 'countLine'>;
}

/** Prompt tokens by line, as the engines count them; undefined where an engine cannot count, or not in time. */
export async function countInput(
  { blobs, clock, catalog, inference }: CountDeps,
  orgId: string,
  { file, index }: BatchInput,
): Promise<(number | undefined)[]> {
  const counted: (number | undefined)[] = Array.from({ length: index.count });
  const models = index.models.map((name) => catalog.find(name));
  const uncountable = new Set<Model>();
  const late = new AbortController();
  const timer = clock.after(maxMs, () => late.abort(new Error('Counting took too long.')));

  const count = async (lines: ChunkLines, ref: LineRef): Promise<void> => {
    const model = models[index.model[ref.line]!];
    if (!model || uncountable.has(model)) return;
    const { prepared: asked, body } = await lines.read(ref);
    // Files are read when the line runs.
    if (body.text.includes('"file_id"') && fileParts(JSON.parse(body.text)).length > 0) return;
    const tokens = await inference.countLine({ model, orgId, asked, signal: late.signal });
    if (tokens === undefined) uncountable.add(model);
    else counted[ref.line] = tokens;
  };

  for (let from = 0; from < index.count && !late.signal.aborted; from += atOnce) {
    const refs = Array.from({ length: Math.min(atOnce, index.count - from) }, (_, at) =>
      lineRefAt(index, from + at),
    );
    const lines = new ChunkLines(fileInput(blobs, file.blobId), refs);
    await readAhead([lines]);
    // Lines that cannot be counted are estimated.
    await Promise.allSettled(refs.map((ref) => count(lines, ref)));
    if (refs.every(({ line }) => counted[line] === undefined)) break;
  }
  timer.cancel();
  return counted;
}

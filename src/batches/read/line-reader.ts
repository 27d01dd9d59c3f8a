import type { Batch } from '../../core/batch.ts';
import { ApiError, notFound } from '../../core/errors.ts';
import type { LineDetail, LinePage, LineQuery } from '../../wire/batch/lines.ts';
import type { BatchesDeps } from '../batch-context.ts';
import { FinishedResults } from './finished-results.ts';
import { type LineSource, openLines } from './line-source.ts';
import { toLineDetail } from './line-views.ts';
import { createSearchGate, findLine, readLines } from './lines.ts';

export interface LineReader {
  page(batch: Batch, query: LineQuery, signal: AbortSignal): Promise<LinePage>;
  /** @param name number from 1 on, or custom_id. @throws ApiError `not_found` */
  one(batch: Batch, name: string, signal: AbortSignal): Promise<LineDetail>;
}

export type LineReaderDeps = Pick<BatchesDeps, 'store' | 'blobs' | 'files' | 'random'>;

/** Reads the lines of batches. Work on many lines passes a gate that is fair to orgs. */
export function createLineReader(deps: LineReaderDeps): LineReader {
  const { store, random } = deps;
  const finished = new FinishedResults(deps);
  const gate = createSearchGate();
  const open = (batch: Batch) => openLines({ ...deps, finished }, batch);

  const searching = <T>({ orgId }: Batch, signal: AbortSignal, work: () => Promise<T>): Promise<T> =>
    gate.within(orgId, 1, signal, work);

  async function numberOf(source: LineSource, name: string, signal: AbortSignal): Promise<number> {
    const { batch } = source;
    const line = /^\d{1,9}$/.test(name)
      ? Number(name) - 1
      : await searching(batch, signal, () => findLine(source, name, signal));
    if (line === undefined || line < 0 || line >= batch.total) throw notFound('line');
    return line;
  }

  /** Line that a retry runs again; null if its batch is gone. */
  async function originalOf(
    { orgId, retryOf }: Batch,
    customId: string | null,
    signal: AbortSignal,
  ): Promise<LineDetail['original']> {
    const batch = retryOf === null ? undefined : await store.batches.get(orgId, retryOf);
    if (!batch || customId === null) return null;
    try {
      const source = await open(batch);
      const line = await searching(batch, signal, () => findLine(source, customId, signal));
      return line === undefined ? null : { ...(await toLineDetail(source, line)), batchId: batch.id };
    } catch (error) {
      if (error instanceof ApiError && error.code === 'not_found') return null;
      throw error;
    }
  }

  return {
    async page(batch, query, signal) {
      const reads = query.q ?? query.customId ?? query.sample ?? query.state ?? query.code;
      const page = async () => readLines(await open(batch), query, random, signal);
      return reads === undefined ? page() : searching(batch, signal, page);
    },

    async one(batch, name, signal) {
      const source = await open(batch);
      const detail = await toLineDetail(source, await numberOf(source, name, signal));
      return { ...detail, original: await originalOf(batch, detail.customId, signal) };
    },
  };
}

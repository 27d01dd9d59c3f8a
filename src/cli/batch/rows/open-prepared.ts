import { createHash, hash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { CliError } from '../../shared/exit-codes.ts';
import type { Table } from '../../table/table.ts';
import type { AnswerCache } from './answer-cache.ts';
import { type Plan, requireKnownColumns } from './plan-rows.ts';
import { type PreparedRows, prepareRows } from './prepare-rows.ts';
import { sampleRows } from './sample-rows.ts';
import { openWorkStore, removeWorkStore, type WorkStore } from './work-store.ts';

interface SampleOptions {
  size: number;
  seed: number;
}

interface PrepareOptions {
  /** True if an earlier run has left its state. */
  isResumed: boolean;
  work: string;
  requests: string;
  sha256: string;
  table: Table;
  plan: Plan;
  skippedPath: string | null;
  cache: AnswerCache | undefined;
  sample: SampleOptions | undefined;
  collectGarbage: () => void;
  signal: AbortSignal;
}

/** Opens the work of an earlier run, or prepares the rows. */
export async function openPrepared(
  options: PrepareOptions,
): Promise<{ store: WorkStore; prepared: PreparedRows }> {
  const { work, requests, sha256, table, plan, skippedPath, cache, collectGarbage, signal } = options;
  const earlier = openWorkStore(work);
  const found = earlier.meta('prepared') as PreparedRows | undefined;
  if (found !== undefined && earlier.meta('sha256') === sha256) return { store: earlier, prepared: found };
  earlier.close();
  removeWorkStore(work);
  if (options.isResumed)
    throw new CliError(
      `${work}, which contained the answers of an earlier run, is missing.`,
      'Remove the .offpeak.json file next to it to start again.',
    );
  const store = openWorkStore(work);
  try {
    store.setMeta('sha256', sha256);
    const prepared = await prepareRows({
      table,
      plan,
      cache,
      sample: options.sample && (await sampleRows(table, options.sample.size, options.sample.seed)),
      store,
      requestsPath: requests,
      skippedPath,
      collectGarbage,
      // Those of JSON Lines are known only at the end.
      requireColumns: (columns) => requireKnownColumns({ name: table.name, columns }, plan),
      signal,
    });
    return { store, prepared };
  } catch (error) {
    if (skippedPath !== null) rmSync(skippedPath, { force: true });
    store.close();
    removeWorkStore(work);
    rmSync(requests, { force: true });
    throw error;
  }
}

/** Hash of a table and of everything else that decides on its requests and results. */
export async function identify(path: string, decisive: unknown): Promise<string> {
  return hash('sha256', JSON.stringify([await hashFile(path), decisive]));
}

/** Reads with one buffer: a stream would leave garbage of 60 MB, in pieces that malloc does not return. */
async function hashFile(path: string): Promise<string> {
  const digest = createHash('sha256');
  const buffer = Buffer.allocUnsafeSlow(hashedBytes);
  const file = await open(path);
  try {
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
      if (bytesRead === 0) return digest.digest('hex');
      digest.update(buffer.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}

const hashedBytes = 262_144;

import { ChunkLines } from '../../src/batches/lines/chunk-lines.ts';
import { ApiError, unavailable } from '../../src/core/errors.ts';
import type { Inference } from '../../src/inference/inference.ts';
import type { LineResult } from '../../src/store/contract/results.ts';
import type { Shape, Size } from './plan.ts';
import { around, inClass, type Plant } from './plant.ts';
import { plantedFences } from './planted-fences.ts';
import { plantedSending } from './planted-sending.ts';
import type { World } from './world.ts';

/** Seeds and shapes in which the search for a bug starts, to keep the suite fast; by default any world from seed 1 on. */
export const searchHints: Record<string, { shape?: Shape; size?: Size; from?: number }> = {
  'a release is not fenced': { shape: 'closing', from: 5 },
  'a chunk is finished under any lease': { shape: 'silent' },
  'a batch is published under any lease': { shape: 'closing', from: 33 },
  'the gate is shut under any lease': { shape: 'closing', from: 6 },
  'missing lines are recorded under any lease': { shape: 'closing', from: 6 },
  'a suspect is split under any lease': { shape: 'suspects', size: 'small' },
  'a process that leaves keeps its leases': { from: 9 },
  'answers are accepted after the gate was shut': { from: 40 },
  'answers are accepted after the end': { from: 71 },
  'a later answer replaces the first': { from: 35 },
  'lines run on after their lease was lost': { shape: 'silent', from: 5 },
  "a refusal is never the line's own": { shape: 'stalled' },
  'an answer without choices is an error': { shape: 'stalled' },
  'no server gets a trial request': { shape: 'stalled' },
  'a pause by an operator is not in force': { shape: 'paused' },
  'a line that gave way counts as failed': { shape: 'chats', from: 110 },
  'a line that may give way runs on after the end of its batch': { shape: 'chats' },
  'every batch ends with the shortest window': { shape: 'windows' },
  'a window has the price of another': { shape: 'windows' },
  'slots are left idle': { shape: 'shares' },
  'an org waits until all others are done': { shape: 'shares' },
  'an org that idled comes back at its old place in the queue': { shape: 'shares' },
  'late batches get no advance': { shape: 'late' },
  'a late chunk waits for those claimed before it': { shape: 'late' },
  'the window is measured with the wall clock': { shape: 'mixed', size: 'large', from: 57 },
  'a result file is served without verification': { shape: 'damaged', from: 3 },
  'a line is sent without verification': { shape: 'damaged' },
};

/** Planted bugs, each of which some seed must detect. */
export const plantedBugs: Record<string, Plant> = {
  ...plantedFences,
  ...plantedSending,

  'the heartbeat never arrives': (parts, world) =>
    around(parts, {
      workers: {
        // Returns the time, but writes no row.
        beat: async () => ({ now: world.time.clock.now(), others: [] }),
      },
    }),

  'chunks of dead processes stay leased': (parts) => around(parts, { workers: { reap: async () => 0 } }),

  'results are reported as recorded and are not': (parts, world) =>
    around(parts, {
      results: {
        record: async (worker, results, finished, now) => {
          const lost = results.filter(() => world.random.chance(0.05));
          const kept = results.filter((result) => !lost.includes(result));
          return parts.store.results.record(worker, kept, finished, now);
        },
      },
    }),

  'results are counted in one transaction and written in another': (parts, world) =>
    around(parts, {
      results: {
        record: async (worker, results, finished, now) => {
          await addToCounts(world, results);
          const outcomes = await parts.store.results.record(worker, results, finished, now);
          for (const { batchId, kept } of outcomes)
            await world.database.db.all('UPDATE batches SET ok = ok - ? WHERE id = ?', [kept, batchId]);
          return outcomes;
        },
      },
    }),

  'outputs are billed before they are accepted': (parts, world) =>
    around(parts, {
      results: {
        record: async (worker, results, finished, now) => {
          const outcomes = await parts.store.results.record(worker, results, finished, now);
          await billAgain(
            world,
            results,
            outcomes.reduce((sum, { kept }) => sum + kept, 0),
          );
          return outcomes;
        },
      },
    }),

  'the last line of a chunk is skipped': (parts) =>
    around(parts, {
      batches: {
        claim: async (...args) => {
          const claim = await parts.store.batches.claim(...args);
          const chunks = claim.chunks.map((chunk) => ({
            ...chunk,
            lines: chunk.lines.length > 1 ? chunk.lines.slice(0, -1) : chunk.lines,
          }));
          return { ...claim, chunks };
        },
      },
    }),

  'the window is measured with the wall clock': (parts) =>
    around(parts, {
      batches: { expire: (_now, limit) => parts.store.batches.expire(parts.clock.now(), limit) },
    }),

  'every batch ends with the shortest window': (parts) =>
    around(parts, {
      batches: {
        create: (batch, chunks, options) => {
          const expiresAt = batch.createdAt + parts.batch.windows[0].ms;
          return parts.store.batches.create({ ...batch, expiresAt }, chunks, options);
        },
      },
    }),

  'a window has the price of another': (parts) =>
    around(parts, {
      batches: {
        create: (batch, chunks, options) =>
          parts.store.batches.create({ ...batch, priceFactor: 0.5 }, chunks, options),
      },
    }),

  'the tokens of a new batch are not counted': (parts) =>
    around(parts, {
      batches: {
        create: (batch, chunks, options) => parts.store.batches.create({ ...batch, est: 0 }, chunks, options),
      },
    }),

  'the tokens of a new batch of several models are not counted': (parts) =>
    around(parts, {
      batches: {
        create: (batch, chunks, options) =>
          parts.store.batches.create(
            batch,
            chunks.map((chunk) => (batch.model === null ? { ...chunk, est: 0 } : chunk)),
            options,
          ),
      },
    }),

  'a batch that ends stays in the queue': (parts, world) =>
    around(parts, {
      batches: {
        publish: async (...args) => {
          const outcome = await parts.store.batches.publish(...args);
          if (outcome === 'published')
            await world.database.db.all('UPDATE batches SET closing = NULL WHERE id = ?', [args[1].batchId]);
          return outcome;
        },
      },
    }),

  'a batch is cancelled after its end was decided': (parts, world) =>
    around(parts, {
      batches: {
        cancel: async (orgId, id, now, graceMs) => {
          await world.database.db.all(
            "UPDATE batches SET closing = NULL WHERE id = ? AND closing IS NOT NULL AND status = 'in_progress'",
            [id],
          );
          return parts.store.batches.cancel(orgId, id, now, graceMs);
        },
      },
    }),

  'failures that count are retried forever': (parts) => {
    const { inference } = parts;
    const runLine: Inference['runLine'] = async (line) => {
      try {
        return await inference.runLine(line);
      } catch (error) {
        if (!(error instanceof ApiError) || error.blame.certain) throw error;
        throw new ApiError(error.code, error.message, { blame: { ...unavailable, scope: 'model' } });
      }
    };
    return { ...parts, inference: { ...inference, runLine } };
  },

  'a row is skipped when results are read in order': (parts) =>
    around(parts, {
      results: {
        tail: async (...args) => {
          const rows = await parts.store.results.tail(...args);
          return rows.length > 3 ? rows.filter((_, at) => at !== 1) : rows;
        },
      },
    }),

  'a result file is served without verification': (parts) => ({
    ...parts,
    files: { ...parts.files, read: ({ blobId }) => parts.blobs.read(blobId) },
  }),

  'a line is sent without verification': inClass(
    ChunkLines,
    'read',
    (original) =>
      function (this: ChunkLines, { line, offset, length }) {
        return original.call(this, { line, offset, length });
      },
  ),

  'result files are published before they are written': (parts) => {
    const { blobs } = parts;
    const create: typeof blobs.create = async (name) => {
      const writer = await blobs.create(name);
      return { ...writer, commit: () => Promise.resolve() };
    };
    return { ...parts, blobs: { ...blobs, create } };
  },
};

async function addToCounts(world: World, results: LineResult[]): Promise<void> {
  for (const { batchId } of results)
    await world.database.db.all(
      "UPDATE batches SET ok = ok + 1 WHERE id = ? AND status IN ('in_progress', 'cancelling')",
      [batchId],
    );
}

/** Late twins are billed too. */
async function billAgain(world: World, results: LineResult[], kept: number): Promise<void> {
  for (const { batchId, model, usage } of results.slice(kept))
    await world.database.db.all(
      'UPDATE usage_ledger SET output_tokens = output_tokens + ? WHERE source_id = ? AND model = ?',
      [usage.outputTokens, batchId, model],
    );
}

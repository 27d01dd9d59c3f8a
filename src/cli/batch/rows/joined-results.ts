import type { Clock } from '../../../base/clock.ts';
import { parseLine } from '../../../base/byte-lines.ts';
import type { Client } from '../../../client/client.ts';
import type { RemoteBatch, ResultLine } from '../../../client/resources.ts';
import { answerOf } from '../run/answer.ts';
import { resultLines } from '../run/download.ts';
import { countResult, isCompleted, type Results, type ResultPaths } from '../run/results.ts';
import type { RunFile } from '../run/run-state.ts';
import type { AnswerCache } from './answer-cache.ts';
import type { WorkStore } from './work-store.ts';

export interface JoinedResultsDeps {
  run: RunFile;
  store: WorkStore;
  cache: AnswerCache | undefined;
  client: Client;
  clock: Clock;
  /** Writes the table with the answers. */
  join: () => Promise<ResultPaths>;
  /** Removes the files of the run. */
  remove: () => void;
}

/** Collects the answers of a table in its work store, and joins them to the rows at the end. */
export function openJoinedResults({
  run,
  store,
  cache,
  client,
  clock,
  join,
  remove,
}: JoinedResultsDeps): Results {
  // The work files outlive the state file of the run: without them, it could not be resumed.
  let isOver = false;
  const collectLines = async (batch: RemoteBatch) => {
    const known: [Uint8Array, string][] = [];
    const sums = structuredClone(run.state.collected);
    for (const stream of ['output', 'errors'] as const) {
      for await (const bytes of resultLines({ client, clock, batchId: batch.id }, stream)) {
        const line = parseLine(bytes) as ResultLine | undefined;
        if (line === undefined) continue;
        countResult(sums, line);
        const answer = JSON.stringify(answerOf(line));
        const key = store.setAnswer(line.custom_id, answer);
        if (key && isCompleted(line)) known.push([key, answer]);
      }
    }
    cache?.add(known);
    return sums;
  };
  return {
    async collect(batch) {
      store.begin();
      try {
        const sums = await collectLines(batch);
        store.commit();
        run.collect({ ...sums, parts: sums.parts + 1 });
      } catch (error) {
        store.rollback();
        throw error;
      }
    },
    async finish() {
      const paths = await join();
      isOver = true;
      return paths;
    },
    discard() {
      isOver = true;
      return Promise.resolve();
    },
    close() {
      store.close();
      cache?.close();
      if (isOver) remove();
      return Promise.resolve();
    },
  };
}

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { join } from 'node:path';
import { cost, formatDollars } from '../../src/core/price.ts';
import { addUsage, noUsage } from '../../src/core/usage.ts';
import type { Usage } from '../../src/core/usage.ts';
import { silent } from '../../src/base/log.ts';
import { systemClock } from '../../src/base/system.ts';
import { createSqliteStore } from '../../src/store/sqlite/sqlite.ts';
import type { Api } from '../support/api.ts';
import { testPrices } from '../support/app.ts';
import { chatLines, endings, parseLines } from '../support/batch-lines.ts';
import { startCountingUpstream, tokensFor } from '../support/counting-upstream.ts';
import type { CountingUpstream } from '../support/counting-upstream.ts';
import { createSeededRandom } from '../support/seeded-random.ts';
import { install, upstreamYaml } from '../support/server-process.ts';
import type { Installation } from '../support/server-process.ts';
import { pause, until } from '../support/until.ts';

// The server is killed repeatedly in the middle of a batch. No line may be lost, duplicated or billed twice, and only lines
// that were in flight or in the uncommitted group may be repeated. `OFFPEAK_KILLS=100` sets the number of kills, with ten
// times the lines.

const many = process.env['OFFPEAK_KILLS'];
const lines = many ? 10_000 : 1000;
const kills = { max: Number(many ?? 12), min: many ? Number(many) / 2 : 4 };
const slots = 16;
const seed = 20_261_121;
/** The slots and an eighth more are in flight; a group has at most 256 answers. */
const repeatsPerKill = Math.ceil((slots * 9) / 8) + 256;
/**
 * Lines that were running at three deaths run alone, in a process that has lived for a minute, which takes four seconds
 * here.
 */
const hurried = { NODE_OPTIONS: `--import=${new URL('../support/fast-clock.ts', import.meta.url).href}` };

let upstream: CountingUpstream;
let installation: Installation;

beforeAll(async () => {
  upstream = await startCountingUpstream({ delayMs: 10 });
  installation = install(upstreamYaml(upstream.url, { slots }));
});

afterAll(async () => {
  await installation?.remove();
  await upstream?.close();
});

describe('F04: a batch whose server is killed repeatedly', () => {
  it(
    `ends every one of ${lines} lines exactly once after up to ${kills.max} kills`,
    async () => {
      const random = createSeededRandom(seed);
      const readyMs: number[] = [];
      // Limits the lines answered per life, however slow the machine, so that enough are left for the next one.
      const nextGoal = () => {
        const goal = upstream.total() + random.int(20, 90);
        upstream.holdAfter = goal + 40;
        return goal;
      };
      let goal = nextGoal();
      let server = await installation.start();
      const file = await server.api.upload(chatLines(lines));
      const { id } = await server.api.createBatch(file.id);
      let seen = '';
      let left = lines;

      while (readyMs.length < kills.max && left > 400) {
        await until('the upstream has received more calls', () => upstream.total() >= goal, { everyMs: 2 });
        await pause(random.int(0, 40));
        seen = await readOn(server.api, id, seen);
        const { request_counts: counts } = await server.api.batch(id);
        expect(counts.completed).toBeGreaterThanOrEqual(parseLines(seen).length);
        await server.end('SIGKILL');
        left = lines - counts.completed;
        goal = nextGoal();
        server = await installation.start();
        readyMs.push(server.readyMs);
        const after = await server.api.batch(id);
        expect(after.request_counts.completed).toBeGreaterThanOrEqual(counts.completed);
      }

      // No more kills follow: the remaining waits may pass quickly.
      upstream.release();
      await server.end('SIGTERM');
      server = await installation.start({ env: hurried });
      const batch = await server.api.finished(id);
      const output = (await server.api.results(id, 'output')).text;
      const errors = (await server.api.results(id, 'errors')).text;
      const repeats = upstream.total() - lines;
      console.info(
        `${readyMs.length} kills: ${repeats} of ${lines} calls repeated; ready again after ${round(readyMs)} ms`,
      );

      expect(readyMs.length).toBeGreaterThanOrEqual(kills.min);
      expect(errors).toBe('');
      expect(batch.status).toBe('completed');
      expect(batch.request_counts).toEqual({ total: lines, completed: lines, failed: 0 });
      const { all, distinct } = endings(output, errors);
      expect(all).toHaveLength(lines);
      expect(distinct.size).toBe(lines);
      expect(output.startsWith(seen)).toBe(true);
      expect((await server.api.send(`/v1/files/${batch.output_file_id}/content`)).text).toBe(output);
      for (const line of parseLines(output))
        expect(line.response?.body.choices[0]?.message.content).toBe(`Answer to ${line.custom_id}`);

      expect(new Set(upstream.calls.keys())).toEqual(new Set(chatLines(lines).map((line) => line.custom_id)));
      expect(repeats).toBeLessThanOrEqual(readyMs.length * repeatsPerKill);

      const billed = usageOf(output);
      expect(billed).toEqual(expectedUsage());
      expect(batch.usage).toMatchObject({
        input_tokens: billed.inputTokens,
        input_tokens_details: { cached_tokens: billed.cachedTokens },
        output_tokens: billed.outputTokens,
      });
      expect(batch.cost.amount).toBe(formatDollars(cost(billed, testPrices, 0.5)));
      await server.end('SIGTERM');
      expect(await ledgerOf(id)).toEqual({ usage: billed, requests: lines });
    },
    300_000 + kills.max * 10_000,
  );
});

/** Output so far: the lines seen before and the new ones. */
async function readOn(api: Api, id: string, seen: string): Promise<string> {
  const { text, headers } = await api.results(id, 'output', parseLines(seen).length);
  const now = seen + text;
  expect(Number(headers.get('x-last-line'))).toBe(parseLines(now).length);
  expect(headers.get('x-incomplete')).toBe('true');
  return now;
}

function usageOf(output: string): Usage {
  return parseLines(output)
    .map(({ response }) => response!.body.usage)
    .map((usage) => ({
      inputTokens: usage.prompt_tokens,
      cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
      cacheWriteTokens: 0,
      outputTokens: usage.completion_tokens,
      reasoningTokens: 0,
    }))
    .reduce(addUsage, noUsage);
}

function expectedUsage(): Usage {
  return chatLines(lines)
    .map((line) => tokensFor(line.custom_id))
    .map((tokens) => ({
      inputTokens: tokens.prompt_tokens,
      cachedTokens: tokens.cached,
      cacheWriteTokens: 0,
      outputTokens: tokens.completion_tokens,
      reasoningTokens: 0,
    }))
    .reduce(addUsage, noUsage);
}

/** Billed usage, read from the database while no server runs. */
async function ledgerOf(id: string): Promise<{ usage: Usage; requests: number }> {
  const store = createSqliteStore({
    path: join(installation.data, 'offpeak.db'),
    clock: systemClock,
    log: silent,
  });
  await store.start();
  try {
    const rows = await store.ledger.forSources([id]);
    const requests = rows.reduce((sum, row) => sum + row.requests, 0);
    return { usage: rows.map((row) => row.usage).reduce(addUsage, noUsage), requests };
  } finally {
    await store.stop();
  }
}

function round(times: number[]): string {
  const sorted = times.toSorted((a, b) => a - b).map(Math.round);
  return `${sorted[0]} to ${sorted.at(-1)}, median ${sorted[sorted.length >> 1]}`;
}

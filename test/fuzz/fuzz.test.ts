import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Model } from '../../src/core/model.ts';
import { type RunningServer, startServer, testModels } from '../server/support/start-server.ts';
import { fuzz } from './fuzz.ts';
import { withVariedAnswers } from './varied-engine.ts';
import { endpoints } from './requests.ts';

// Bad input for every generation format (reliability.md, "Bad input"): every request gets an answer of Offpeak in the
// shape of its format. `OFFPEAK_FUZZ=100000` sends that many requests, `OFFPEAK_FUZZ=100000:7` uses another seed.

const [total, seed] = plan(process.env['OFFPEAK_FUZZ'] ?? '25000');

function plan(text: string): [number, number] {
  const match = /^(\d+)(?::(\d+))?$/.exec(text);
  if (!match)
    throw new Error(`OFFPEAK_FUZZ is '${text}'; write how many requests, or 100000:7 for those of seed 7.`);
  return [Number(match[1]), Number(match[2] ?? 1)];
}

const direct = (id: string, serves: Model['serves']): Model => ({ ...testModels[2]!, id, serves });
const models = [...testModels, direct('ranker', ['rerank', 'score']), direct('guard', ['moderations'])];

let app: RunningServer;
beforeAll(async () => void (app = await startServer({ models, engine: withVariedAnswers })));
afterAll(() => app.stop());

describe.concurrent('every request is answered, rejected with its location, or ends its stream', () => {
  it.for(endpoints)('$path', { timeout: 3_600_000 }, async (endpoint) => {
    const requests = Math.ceil((total * endpoint.share) / 100);
    const { faults, seen } = await fuzz(app, endpoint, { requests, seed });
    expect(faults.join('\n')).toBe('');
    // Both must occur, or the requests would test little.
    expect(Math.min(seen['200'] ?? 0, seen['422'] ?? 0) * 10).toBeGreaterThan(requests);
  });
});

describe('afterwards', () => {
  it('nothing is left in flight, and no prototype is polluted', async () => {
    await expect.poll(() => app.engine.stats()).toMatchObject({ running: 0, waiting: 0 });
    expect(app.capacity.interactiveLoad()).toEqual({});
    expect(({} as Record<string, unknown>)['deep']).toBeUndefined();
    expect((await app.call('GET', '/healthz')).status).toBe(200);
  });
});

import { setTimeout as wait } from 'node:timers/promises';
import { createApi } from '../../support/api.ts';
import { startApp } from '../../support/app.ts';
import { createShowcaseClock } from './showcase-clock.ts';
import {
  makeEarlier,
  makePast,
  makePresent,
  makeRequests,
  makeSettings,
  orgs,
  type Story,
  type Teams,
} from './showcase-story.ts';
import { resolveNames, showcaseModels, startUpstream } from './showcase-upstream.ts';

const hour = 3_600_000;
/** Speed of the past, relative to the clock of the machine. */
const speed = 15;

/** Server with the data of a few busy teams: batches in all states, and usage of two weeks. */
export interface Showcase {
  url: string;
  /** Key with all scopes. */
  adminKey: string;
  /** Batch that runs, and one that ended with failures. */
  running: string;
  failed: string;
  stop(): Promise<void>;
}

interface ShowcaseOptions {
  /** Share of the lines of the batches, so that a test is quick. */
  scale?: number;
  /** Milliseconds that the open batches have run. Takes a fifteenth of it. */
  progressMs?: number;
  /** Days of usage before today. */
  days?: number;
}

export async function startShowcase({
  scale = 1,
  progressMs = 12 * 60_000,
  days = 13,
}: ShowcaseOptions = {}): Promise<Showcase> {
  resolveNames();
  const clock = createShowcaseClock((days + 2) * 24 * hour);
  // Days of usage are made sooner by faster answers.
  let slowness = 0.1;
  const upstream = await startUpstream((ms) => clock.realMs(slowness * ms));
  const app = await startApp({
    models: showcaseModels(upstream),
    overrides: { clock, lookupHost: async () => [{ address: '127.0.0.1', family: 4 }] },
    egress: { allow: ['127.0.0.1', 'hooks.example', 'ci.example'] },
    keys: [
      ...orgs.map((org) => ({ org })),
      { org: 'search', scopes: ['admin', 'inference', 'batches', 'files', 'usage'] },
    ],
  });
  const names = [...orgs, 'admin'];
  const teams = Object.fromEntries(
    app.keys.map((key, index) => [names[index], createApi(app.url, key)]),
  ) as Teams;
  const story: Story = {
    teams,
    clock,
    hook: `http://hooks.example:${upstream.port}/batches`,
    size: (lines) => Math.round(lines * scale),
  };
  clock.run(speed);
  const failed = await makePast(story, days);
  slowness = 1;
  clock.skipToBeforeNow(20 * hour);
  await makeEarlier(story);
  await makeSettings(story);
  clock.skipToBeforeNow(progressMs);
  const running = await makePresent(story);
  await wait(clock.realMs(Math.max(0, Date.now() - clock.now())) * (speed / (speed - 1)));
  clock.run(1);
  await makeRequests(story, 40);
  return {
    url: app.url,
    adminKey: app.keys.at(-1)!,
    running,
    failed,
    async stop() {
      await app.stop();
      await upstream.close();
    },
  };
}

import { expect, it } from 'vitest';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { createSeededRandom } from '../../test/support/seeded-random.ts';
import { createIds } from '../base/ids.ts';
import { silent } from '../base/log.ts';
import type { Config, ModelConfig } from '../core/config.ts';
import { createServing } from './serving.ts';

const prices = { input: 1, cachedInput: 1, output: 1 };
const replica = (name: string) => ({
  url: `http://${name}.test/v1`,
  apiKey: null,
  slots: 4,
  weight: 1,
  drain: false,
});
const modelOf = (id: string, servers: string[], input = 1): ModelConfig => ({
  id,
  aliases: [],
  serves: ['chat'],
  prices: { ...prices, input },
  engine: {
    kind: 'openai',
    flavor: 'openai',
    model: 'real',
    replicas: servers.map(replica),
    capabilities: {},
    timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 1 },
  },
});
const configOf = (...models: ModelConfig[]) => ({ models }) as Config;

function serve(config: Config, maxSlowdown?: number) {
  const clock = createManualClock();
  const random = createSeededRandom(1);
  return createServing(config, {
    clock,
    random,
    ids: createIds(clock, random),
    log: silent,
    jobEngines: undefined as never,
    modelFiles: {
      pathOf: () => '',
    } as never,
    engineFolder: '',
    isShared: false,
    windowMs: 86_400_000,
    maxSlowdown,
  });
}

const before = () => configOf(modelOf('stays', ['a', 'b']), modelOf('goes', ['c']));
const after = () => configOf(modelOf('stays', ['a', 'd'], 2), modelOf('comes', ['e']));
/** The served models, as requests see them. */
const seen = (serving: Awaited<ReturnType<typeof serve>>) =>
  serving.models.map(({ model, config, pool }) => [
    model.id,
    model.prices.input,
    config.prices.input,
    pool.replicas.map(({ name }) => name),
  ]);

it('replaces models: first requests are routed to them, then remaining pools change their replicas', async () => {
  const serving = await serve(before());
  const pools = serving.models.map(({ pool }) => pool);
  let whenTaken: unknown;
  const { replaced } = await serving.replace(after(), async (models) => {
    whenTaken = [models.map(({ model }) => model.id), seen(serving)];
  });
  expect(whenTaken).toEqual([
    ['stays', 'comes'],
    [
      ['stays', 1, 1, ['a.test/v1', 'b.test/v1']],
      ['goes', 1, 1, ['c.test/v1']],
    ],
  ]);
  expect(replaced).toEqual(['stays', 'comes']);
  expect(seen(serving)).toEqual([
    ['stays', 2, 2, ['a.test/v1', 'd.test/v1']],
    ['comes', 1, 1, ['e.test/v1']],
  ]);
  expect(serving.models[0]!.pool).toBe(pools[0]);
});

it('serves the previous models after a failed replacement, and can be replaced later', async () => {
  const serving = await serve(before());
  const was = [...serving.models];
  const told = seen(serving);
  const refused = serving.replace(after(), () => Promise.reject(new Error('cannot be started')));
  await expect(refused).rejects.toThrow('cannot be started');
  expect(serving.models).toEqual(was);
  expect(seen(serving)).toEqual(told);
  const { replaced } = await serving.replace(after(), async () => {});
  expect(replaced).toEqual(['stays', 'comes']);
});

it('lets lines give way at upstreams where their slowdown is limited', async () => {
  const linesGiveWay = async (maxSlowdown?: number) =>
    (await serve(before(), maxSlowdown)).models.map(({ pool }) => pool.linesGiveWay);
  expect(await linesGiveWay(1.3)).toEqual([true, true]);
  expect(await linesGiveWay()).toEqual([false, false]);
});

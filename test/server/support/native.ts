import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { Flavor } from '../../../src/core/flavor.ts';
import type { FormatSupport } from '../../../src/engines/engines.ts';
import { startApp, testModel, upstreamEngine } from '../../support/app.ts';
import type { RunningApp } from '../../support/app.ts';
import { complete, startFakeUpstream } from '../../support/fake-upstream.ts';
import type { FakeUpstream } from '../../support/fake-upstream.ts';

/**
 * Sets up the tests of one file: a fake upstream, and one Offpeak per way to configure it. Each lives as long as the
 * file.
 */
export function startNative(usual: Flavor, endpoint: 'messages' | 'responses') {
  const apps = new Map<string, RunningApp>();
  const native = {
    fake: undefined as unknown as FakeUpstream,
    running: undefined as unknown as RunningApp,
    start: async (flavor: Flavor = usual, speech?: FormatSupport, passThrough?: string[]) => {
      const key = `${flavor} ${speech} ${passThrough?.join()}`;
      const engine = {
        ...upstreamEngine(native.fake.url),
        flavor,
        ...(passThrough && { passThrough }),
        capabilities: speech ? { formats: { [endpoint]: speech } } : {},
      };
      const app = apps.get(key) ?? (await startApp({ models: [testModel(engine)] }));
      apps.set(key, app);
      native.running = app;
    },
    /** The last request that the upstream received. */
    sent: () => native.fake.received.at(-1)!,
    call: (path: string, body?: object | string, headers: Record<string, string> = {}) =>
      fetch(`${native.running.url}/v1/${endpoint}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          authorization: `Bearer ${native.running.key}`,
          'content-type': 'application/json',
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
  };
  beforeAll(async () => {
    native.fake = await startFakeUpstream();
  });
  beforeEach(async () => {
    Object.assign(native.fake, { received: [], answer: complete() });
    await native.start();
  });
  afterAll(async () => {
    await Promise.all([...apps.values()].map((app) => app.stop()));
    await native.fake?.close();
  });
  return native;
}

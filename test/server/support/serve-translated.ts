import { afterAll, beforeAll } from 'vitest';
import { type RunningApp, startApp, testModel, upstreamEngine } from '../../support/app.ts';
import { complete, type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';

/** Starts, for the tests of a file, a server whose upstream knows only chat completions, so that every request is translated. */
export function serveTranslated(): { readonly upstream: FakeUpstream; readonly running: RunningApp } {
  let upstream: FakeUpstream;
  let running: RunningApp;
  beforeAll(async () => {
    upstream = await startFakeUpstream(complete('Fine.'));
    const engine = { ...upstreamEngine(upstream.url), flavor: 'generic' as const, capabilities: {} };
    running = await startApp({ models: [testModel(engine)] });
  });
  afterAll(async () => {
    await running?.stop();
    await upstream?.close();
  });
  return {
    get upstream() {
      return upstream;
    },
    get running() {
      return running;
    },
  };
}

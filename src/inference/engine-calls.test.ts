import { expect, it } from 'vitest';
import { chatRequest, chatResponse, createFakeEngine } from '../../test/support/fake-engine.ts';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { createInlineSchemas } from '../../test/support/inline-schemas.ts';
import { unixSeconds } from '../base/clock.ts';
import { createIds } from '../base/ids.ts';
import { silent } from '../base/log.ts';
import { systemRandom } from '../base/system.ts';
import type { EngineCall } from '../engines/engines.ts';
import type { ChatBody } from '../wire/chat/request/body.ts';
import { canonicalChat } from '../wire/chat/request/canonical.ts';
import { createEngineCalls, usageOf } from './engine-calls.ts';
import type { PooledModel } from './served-models.ts';

it.each([
  [false, 'validation_error'],
  [true, 'taken'],
])(
  'leaves the grammar of a tool with free text to an engine that takes it: %j',
  async (customTools, told) => {
    const clock = createManualClock();
    const ids = createIds(clock, systemRandom);
    const calls = createEngineCalls({ schemas: createInlineSchemas(clock), clock, ids, log: silent });
    // Named groups are written so in other languages.
    const grammar = { syntax: 'regex', definition: '(?P<day>[0-9]+' };
    const custom = { name: 'say', format: { type: 'grammar', grammar } };
    const value: ChatBody = { model: 'm', messages: [], tools: [{ type: 'custom', custom }] };
    const { body } = canonicalChat({ value, text: JSON.stringify(value) });
    const engine = createFakeEngine({ customTools });
    const { signal } = new AbortController();
    const served = { pool: engine, model: { id: 'public' } } as unknown as PooledModel;
    const guarantee = async () => calls.guarantee(served, body.value, 'org_1', signal);
    expect(
      await guarantee().then(
        () => 'taken',
        ({ code }: { code: string }) => code,
      ),
    ).toBe(told);
  },
);

it('counts cached tokens among the input that is paid', () => {
  expect(usageOf(chatResponse('').usage)).toEqual({
    inputTokens: 7,
    cachedTokens: 2,
    cacheWriteTokens: 0,
    outputTokens: 5,
    reasoningTokens: 0,
  });
});

it('dates an answer by our clock, because a server may omit the date', async () => {
  const clock = createManualClock();
  const ids = createIds(clock, systemRandom);
  const calls = createEngineCalls({ schemas: createInlineSchemas(clock), clock, ids, log: silent });
  const engine = createFakeEngine();
  engine.answers = [{ ...chatResponse('hello'), created: 0 }];
  const signal = new AbortController().signal;
  const request = chatRequest();
  const served = { pool: engine, model: { id: 'public' } } as unknown as PooledModel;
  const guarantee = await calls.guarantee(served, request.value, 'org_1', signal);
  const { body } = await calls.chat(served, request, guarantee, { signal } as EngineCall);
  expect([body.created, body.model]).toEqual([unixSeconds(clock.now()), 'public']);
});

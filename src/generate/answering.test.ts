import { expect, it } from 'vitest';
import { chatResponse, createFakeEngine } from '../../test/support/fake-engine.ts';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { createInlineSchemas } from '../../test/support/inline-schemas.ts';
import { createIds } from '../base/ids.ts';
import { silent } from '../base/log.ts';
import { systemRandom } from '../base/system.ts';
import type { ChatBody } from '../wire/chat/request/body.ts';
import { canonicalChat } from '../wire/chat/request/canonical.ts';
import { createAnswering, usageOf } from './answering.ts';

it.each([
  [false, 'validation_error'],
  [true, 'taken'],
])(
  'leaves the grammar of a tool with free text to an engine that takes it: %j',
  async (customTools, told) => {
    const clock = createManualClock();
    const ids = createIds(clock, systemRandom);
    const answering = createAnswering({ schemas: createInlineSchemas(clock), clock, ids, log: silent });
    // Named groups are written so in other languages.
    const grammar = { syntax: 'regex', definition: '(?P<day>[0-9]+' };
    const custom = { name: 'say', format: { type: 'grammar', grammar } };
    const value: ChatBody = { model: 'm', messages: [], tools: [{ type: 'custom', custom }] };
    const { body } = canonicalChat({ value, text: JSON.stringify(value) });
    const engine = createFakeEngine({ customTools });
    const promised = answering.promise(engine, body.value, 'org_1', new AbortController().signal);
    expect(
      await promised.then(
        () => 'taken',
        ({ code }: { code: string }) => code,
      ),
    ).toBe(told);
  },
);

it('counts cached tokens among the input that is paid', () => {
  expect(usageOf(chatResponse('').usage)).toEqual({ inputTokens: 7, cachedTokens: 2, outputTokens: 5 });
});

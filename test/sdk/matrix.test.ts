import * as zodAnthropic from '@anthropic-ai/sdk/helpers/zod';
import * as zodAnthropic0 from 'anthropic0/helpers/zod';
import * as zodOpenAI from 'openai/helpers/zod';
import * as zodOpenAI6 from 'openai6/helpers/zod';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { batchEndpoints } from '../../src/core/batch.ts';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';
import { createMessagesClient, messagesSdks } from './anthropic-clients.ts';
import { createClient, sdks } from './clients.ts';
import { anthropicMessages } from './matrix/anthropic-messages.ts';
import { anthropicCells, openaiCells } from './matrix/cells.ts';
import { openaiChat } from './matrix/openai-chat.ts';
import { openaiResponses } from './matrix/openai-responses.ts';
import { openaiStorage } from './matrix/openai-storage.ts';
import { startWeatherModel } from './matrix/weather-model.ts';

// Every unmodified JavaScript client with every supported feature: one test per cell.

let running: RunningApp;
let upstream: FakeUpstream;

beforeAll(async () => {
  upstream = await startWeatherModel();
  const weather = { ...testModel(upstreamEngine(upstream.url)), id: 'weather', aliases: [] };
  running = await startApp({ models: [testModel(), weather], batch: { endpoints: batchEndpoints } });
});

afterAll(async () => {
  await running?.stop();
  await upstream?.close();
});

const openai = { ...openaiChat, ...openaiResponses, ...openaiStorage };
const zodOf = { 'openai 7': zodOpenAI, 'openai 6': zodOpenAI6 as unknown as typeof zodOpenAI };

describe.each(sdks)('$name', ({ name, sdk }) => {
  const zod = zodOf[name as keyof typeof zodOf];
  it.each(openaiCells.filter((cell) => name === 'openai 7' || cell !== 'responses: tool runner'))(
    '%s',
    (cell) => openai[cell]({ client: createClient(sdk, running), sdk, zod, running, upstream }),
  );
});

describe.each(messagesSdks)('$name', ({ sdk, isOld }) => {
  const zod = isOld ? zodAnthropic0 : zodAnthropic;
  it.each(anthropicCells)('%s', (cell) =>
    anthropicMessages[cell]({ client: createMessagesClient(sdk, running), sdk, zod, running, upstream }),
  );
});

import assert from 'node:assert/strict';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { imageUrl, isPerson, key, pieces, question, raises, run, toolSaid, url } from './cells.mjs';

const formats = {
  // Client included in Mastra.
  chat: (id, apiKey = key) => ({ providerId: 'offpeak', modelId: id, url: `${url}/v1`, apiKey }),
  responses: (id, apiKey = key) => createOpenAI({ baseURL: `${url}/v1`, apiKey }).responses(id),
  messages: (id, authToken = key) => createAnthropic({ baseURL: `${url}/v1`, authToken })(id),
};

const getWeather = createTool({
  id: 'get_weather',
  description: 'The weather now.',
  inputSchema: z.object({ city: z.string() }),
  execute: async () => '12 degrees',
});
const tools = { get_weather: getWeather };
const person = z.object({ name: z.string(), age: z.number().int(), nick: z.string().nullable() });
const agent = (model, more) =>
  new Agent({ id: 'a', name: 'a', instructions: 'Be kind.', model, maxRetries: 0, ...more });

const cells = {};
for (const [format, model] of Object.entries(formats)) {
  const cell = (name, work) => (cells[`${format}: ${name}`] = work);

  cell('answer', async () => {
    const { text, usage } = await agent(model('tiny')).generate('good night');
    assert.equal(text, 'Echo: good night');
    assert.ok(usage.inputTokens > 0 && usage.outputTokens > 0);
  });

  cell('stream', async () => {
    const { textStream } = await agent(model('tiny')).stream('one two three four');
    assert.equal(await pieces(textStream), 'Echo: one two three four');
  });

  cell('tools', async () => {
    const whole = await agent(model('weather'), { tools }).generate(question);
    assert.match(whole.text, toolSaid);
    const { textStream } = await agent(model('weather'), { tools }).stream(question);
    assert.match(await pieces(textStream), toolSaid);
  });

  cell('forced tool', async () => {
    const asked = { toolChoice: 'required', maxSteps: 1 };
    const { toolCalls } = await agent(model('tiny'), { tools }).generate('Hello!', asked);
    assert.equal(toolCalls[0].payload.toolName, 'get_weather');
  });

  cell('schema', async () => {
    const asked = { structuredOutput: { schema: person } };
    isPerson((await agent(model('tiny')).generate('Ada, 36', asked)).object);
  });

  cell('image', async () => {
    const content = [
      { type: 'text', text: 'What is this?' },
      { type: 'image', image: imageUrl, mimeType: 'image/png' },
    ];
    const { text } = await agent(model('weather')).generate([{ role: 'user', content }]);
    assert.match(text, /What is this\? data:image\/png/);
  });

  cell('errors', async () => {
    await raises(401, () => agent(model('tiny', 'wrong')).generate('x'));
    await raises(404, () => agent(model('nobody')).generate('x'));
  });

  cell('retries', async () => {
    const prompt = `[[fail 429 2]] mastra ${format}`;
    const once = { modelSettings: { maxRetries: 0 } };
    await raises(503, () => agent(model('tiny')).generate(prompt, once));
    const { text } = await agent(model('tiny'), { maxRetries: 2 }).generate(prompt, {
      modelSettings: { maxRetries: 2 },
    });
    assert.equal(text, `Echo: mastra ${format}`);
  });
}

await run(cells);

import assert from 'node:assert/strict';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { embed, generateText, Output, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { imageUrl, isPerson, key, pieces, question, raises, run, toolSaid, url } from './cells.mjs';

const openaiWith = (apiKey) => createOpenAI({ baseURL: `${url}/v1`, apiKey });
const compatibleWith = (apiKey) =>
  createOpenAICompatible({
    name: 'offpeak',
    baseURL: `${url}/v1`,
    apiKey,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
const anthropicWith = (authToken) => createAnthropic({ baseURL: `${url}/v1`, authToken });

const formats = {
  'chat (openai)': (id, as = key) => openaiWith(as).chat(id),
  'chat (openai-compatible)': (id, as = key) => compatibleWith(as)(id),
  responses: (id, as = key) => openaiWith(as).responses(id),
  messages: (id, as = key) => anthropicWith(as)(id),
};

const getWeather = tool({
  description: 'The weather now.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `12 degrees in ${city}`,
});
const tools = { get_weather: getWeather };
const person = z.object({ name: z.string(), age: z.number().int(), nick: z.string().nullable() });

const cells = {};
for (const [format, model] of Object.entries(formats)) {
  const cell = (name, work) => (cells[`${format}: ${name}`] = work);

  cell('answer', async () => {
    const { text, usage } = await generateText({ model: model('tiny'), prompt: 'good night' });
    assert.equal(text, 'Echo: good night');
    assert.ok(usage.inputTokens > 0 && usage.outputTokens > 0);
  });

  cell('stream', async () => {
    const result = streamText({ model: model('tiny'), prompt: 'one two three four' });
    assert.equal(await pieces(result.textStream), 'Echo: one two three four');
    assert.ok((await result.usage).outputTokens > 0);
  });

  cell('tools', async () => {
    const asked = { model: model('weather'), prompt: question, tools, stopWhen: stepCountIs(3) };
    const whole = await generateText(asked);
    assert.match(whole.text, toolSaid);
    assert.equal(whole.steps.length, 2);
    assert.match(await pieces(streamText(asked).textStream), toolSaid);
  });

  cell('forced tool', async () => {
    for (const toolChoice of ['required', { type: 'tool', toolName: 'get_weather' }]) {
      const { toolCalls } = await generateText({ model: model('tiny'), prompt: 'Hello!', tools, toolChoice });
      assert.equal(toolCalls[0].toolName, 'get_weather');
      assert.equal(typeof toolCalls[0].input.city, 'string');
    }
  });

  cell('schema', async () => {
    const asked = { model: model('tiny'), prompt: 'Ada, 36', output: Output.object({ schema: person }) };
    isPerson((await generateText(asked)).output);
    isPerson(await streamText(asked).output);
  });

  cell('image', async () => {
    const content = [
      { type: 'text', text: 'What is this?' },
      { type: 'file', data: imageUrl.split(',')[1], mediaType: 'image/png' },
    ];
    const { text } = await generateText({ model: model('weather'), messages: [{ role: 'user', content }] });
    assert.match(text, /What is this\? data:image\/png/);
  });

  cell('errors', async () => {
    const asked = { prompt: 'x', maxRetries: 0 };
    await raises(401, () => generateText({ ...asked, model: model('tiny', 'wrong') }));
    await raises(404, () => generateText({ ...asked, model: model('nobody') }));
  });

  cell('retries', async () => {
    const prompt = `[[fail 429 2]] ${format} ${process.pid}`;
    await raises(503, () => generateText({ model: model('tiny'), prompt, maxRetries: 0 }));
    const { text } = await generateText({ model: model('tiny'), prompt, maxRetries: 2 });
    assert.equal(text, `Echo: ${format} ${process.pid}`);
  });
}

async function embeds(provider) {
  const { embedding } = await embed({ model: provider(key).textEmbeddingModel('tiny'), value: 'hello' });
  assert.ok(embedding.length > 8);
}
cells['chat (openai): embeddings'] = () => embeds(openaiWith);
cells['chat (openai-compatible): embeddings'] = () => embeds(compatibleWith);

await run(cells);

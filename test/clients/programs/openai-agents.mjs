import assert from 'node:assert/strict';
import {
  Agent,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  Runner,
  setTracingDisabled,
  tool,
} from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';
import { imageUrl, isPerson, key, pieces, question, raises, run, toolSaid, url } from './cells.mjs';

setTracingDisabled(true);

const client = ({ apiKey = key, maxRetries = 0 } = {}) =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries });
const formats = {
  chat: (id, options) => new OpenAIChatCompletionsModel(client(options), id),
  responses: (id, options) => new OpenAIResponsesModel(client(options), id),
};

const getWeather = tool({
  name: 'get_weather',
  description: 'The weather now.',
  parameters: z.object({ city: z.string() }),
  execute: async () => '12 degrees',
});
const tools = [getWeather];
const person = z.object({ name: z.string(), age: z.number().int(), nick: z.string().nullable() });
const runner = new Runner();
const agent = (model, more) => new Agent({ name: 'a', instructions: 'Be kind.', model, ...more });
const textOf = (event) =>
  event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta' ? event.data.delta : '';

const cells = {};
for (const [format, model] of Object.entries(formats)) {
  const cell = (name, work) => (cells[`${format}: ${name}`] = work);

  cell('answer', async () => {
    const { finalOutput, rawResponses } = await runner.run(agent(model('tiny')), 'good night');
    assert.equal(finalOutput, 'Echo: good night');
    assert.ok(rawResponses[0].usage.inputTokens > 0 && rawResponses[0].usage.outputTokens > 0);
  });

  cell('stream', async () => {
    const stream = await runner.run(agent(model('tiny')), 'one two three four', { stream: true });
    assert.equal(await pieces(stream, textOf), 'Echo: one two three four');
  });

  cell('tools', async () => {
    const first = await runner.run(agent(model('weather'), { tools }), question);
    assert.match(first.finalOutput, toolSaid);
    // Sends the whole history back, including calls and results.
    const second = await runner.run(agent(model('weather')), [
      ...first.history,
      { role: 'user', content: 'thanks' },
    ]);
    assert.match(second.finalOutput, /thanks$/);
    const stream = await runner.run(agent(model('weather'), { tools }), question, { stream: true });
    assert.match(await pieces(stream, textOf), toolSaid);
  });

  cell('forced tool', async () => {
    for (const toolChoice of ['required', 'get_weather']) {
      const modelSettings = { toolChoice };
      const forced = agent(model('tiny'), { tools, modelSettings, toolUseBehavior: 'stop_on_first_tool' });
      assert.equal((await runner.run(forced, 'Hello!')).finalOutput, '12 degrees');
    }
  });

  cell('schema', async () => {
    isPerson((await runner.run(agent(model('tiny'), { outputType: person }), 'Ada, 36')).finalOutput);
  });

  cell('image', async () => {
    const content = [
      { type: 'input_text', text: 'What is this?' },
      { type: 'input_image', image: imageUrl },
    ];
    const { finalOutput } = await runner.run(agent(model('weather')), [{ role: 'user', content }]);
    assert.match(finalOutput, /What is this\? data:image\/png/);
  });

  cell('errors', async () => {
    await raises(401, () => runner.run(agent(model('tiny', { apiKey: 'wrong' })), 'x'));
    await raises(404, () => runner.run(agent(model('nobody')), 'x'));
  });

  cell('retries', async () => {
    const prompt = `[[fail 429 2]] agents ${format}`;
    await raises(503, () => runner.run(agent(model('tiny')), prompt));
    const { finalOutput } = await runner.run(agent(model('tiny', { maxRetries: 2 })), prompt);
    assert.equal(finalOutput, `Echo: agents ${format}`);
  });
}

await run(cells);

import assert from 'node:assert/strict';
import { ChatAnthropic } from '@langchain/anthropic';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { createAgent, tool } from 'langchain';
import { z } from 'zod';
import { imageUrl, isPerson, key, pieces, question, raises, run, toolSaid, url } from './cells.mjs';

const openai = (model, { apiKey = key, ...more } = {}) =>
  new ChatOpenAI({ model, apiKey, maxRetries: 0, configuration: { baseURL: `${url}/v1` }, ...more });

const formats = {
  chat: openai,
  responses: (model, more) => openai(model, { useResponsesApi: true, ...more }),
  messages: (model, { apiKey = key, ...more } = {}) =>
    new ChatAnthropic({
      model,
      maxRetries: 0,
      // A key is required here; the one below is sent.
      apiKey: 'none',
      anthropicApiUrl: url,
      clientOptions: { authToken: apiKey, apiKey: null },
      ...more,
    }),
};

const getWeather = tool(async () => '12 degrees', {
  name: 'get_weather',
  description: 'The weather now.',
  schema: z.object({ city: z.string() }),
});
const tools = [getWeather];
const person = z.object({ name: z.string(), age: z.number().int(), nick: z.string().nullable() });

const cells = {};
for (const [format, model] of Object.entries(formats)) {
  const cell = (name, work) => (cells[`${format}: ${name}`] = work);

  cell('answer', async () => {
    const answer = await model('tiny').invoke('good night');
    assert.equal(answer.text, 'Echo: good night');
    assert.ok(answer.usage_metadata.input_tokens > 0 && answer.usage_metadata.output_tokens > 0);
  });

  cell('stream', async () => {
    let last;
    const stream = await model('tiny').stream('one two three four');
    const text = await pieces(stream, (chunk) => ((last = last ? last.concat(chunk) : chunk), chunk.text));
    assert.equal(text, 'Echo: one two three four');
    assert.ok(last.usage_metadata.input_tokens > 0 && last.usage_metadata.output_tokens > 0);
  });

  cell('tools', async () => {
    const agent = createAgent({ model: model('weather'), tools });
    const { messages } = await agent.invoke({ messages: question });
    assert.match(messages.at(-1).text, toolSaid);
    const stream = await agent.stream({ messages: question }, { streamMode: 'messages' });
    const text = await pieces(stream, ([chunk]) => (chunk.type === 'ai' ? chunk.text : ''));
    assert.match(text, toolSaid);
  });

  cell('forced tool', async () => {
    // It does not send "any" to responses.
    for (const tool_choice of format === 'responses' ? ['get_weather'] : ['any', 'get_weather']) {
      const { tool_calls } = await model('tiny').bindTools(tools, { tool_choice }).invoke('Hello!');
      assert.equal(tool_calls[0].name, 'get_weather');
      assert.equal(typeof tool_calls[0].args.city, 'string');
    }
  });

  cell('schema', async () => {
    for (const method of ['jsonSchema', 'functionCalling'])
      isPerson(
        await model('tiny').withStructuredOutput(person, { method, name: 'person' }).invoke('Ada, 36'),
      );
  });

  cell('image', async () => {
    const content = [
      { type: 'text', text: 'What is this?' },
      { type: 'image_url', image_url: { url: imageUrl } },
    ];
    const { text } = await model('weather').invoke([{ role: 'user', content }]);
    assert.match(text, /What is this\? data:image\/png/);
  });

  cell('errors', async () => {
    await raises(401, () => model('tiny', { apiKey: 'wrong' }).invoke('x'));
    await raises(404, () => model('nobody').invoke('x'));
  });

  cell('retries', async () => {
    const prompt = `[[fail 429 2]] langchain ${format}`;
    await raises(503, () => model('tiny').invoke(prompt));
    const { text } = await model('tiny', { maxRetries: 2 }).invoke(prompt);
    assert.equal(text, `Echo: langchain ${format}`);
  });
}

cells['chat: embeddings'] = async () => {
  const made = new OpenAIEmbeddings({ model: 'tiny', apiKey: key, configuration: { baseURL: `${url}/v1` } });
  const vectors = await made.embedDocuments(['a', 'b']);
  assert.equal(vectors.length, 2);
  assert.ok(vectors[0].length > 8);
};

await run(cells);

import assert from 'node:assert/strict';
import { start } from './coding-agents.mjs';
import { key, run, url } from './cells.mjs';

const ask = (model, prompt, ...more) =>
  start(
    'claude',
    [
      '-p',
      prompt,
      '--model',
      model,
      '--output-format',
      'stream-json',
      '--verbose',
      '--allowedTools',
      'Bash',
      ...more,
    ],
    (folder) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: key,
      ANTHROPIC_SMALL_FAST_MODEL: 'tiny',
      CLAUDE_CONFIG_DIR: folder,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    }),
  );
const resultOf = (events) => events.findLast(({ type }) => type === 'result');

await run({
  async 'messages: answer'() {
    const { result, is_error, usage } = resultOf(await ask('tiny', '[[json good night]]'));
    assert.equal(is_error, false, result);
    assert.equal(result, 'good night');
    assert.ok(usage.output_tokens > 0);
  },

  async 'messages: tools'() {
    const events = await ask('weather', 'Say something with a tool.');
    const { result, num_turns } = resultOf(events);
    assert.match(result, /^The tool said: .*made by a tool/s);
    assert.equal(num_turns, 2);
  },

  async 'messages: errors'() {
    const { is_error, result } = resultOf(await ask('nobody', 'x'));
    assert.ok(is_error);
    assert.match(result, /nobody/);
  },
});

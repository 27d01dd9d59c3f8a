import assert from 'node:assert/strict';
import { start } from './coding-agents.mjs';
import { key, run, url } from './cells.mjs';

const provider = `{name="offpeak",base_url="${url}/v1",env_key="OFFPEAK_API_KEY",wire_api="responses"}`;
const options = 'exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox'.split(' ');
options.push('-c', 'model_provider="offpeak"', '-c', `model_providers.offpeak=${provider}`);
const ask = (model, prompt) =>
  start('codex', [...options, '-m', model, prompt], (folder) => ({
    CODEX_HOME: folder,
    OFFPEAK_API_KEY: key,
  }));
const itemsOf = (events) => events.flatMap(({ type, item }) => (type === 'item.completed' ? [item] : []));
const saidOf = (events) => itemsOf(events).findLast(({ type }) => type === 'agent_message')?.text;

await run({
  async 'responses: answer'() {
    const events = await ask('tiny', 'good night');
    assert.match(saidOf(events) ?? JSON.stringify(events), /good night/);
    assert.ok(events.at(-1).usage.output_tokens > 0);
  },

  async 'responses: tools'() {
    const events = await ask('weather', 'Say something with a tool.');
    assert.match(saidOf(events) ?? JSON.stringify(events), /^The tool said: .*made by a tool/s);
    assert.equal(itemsOf(events).filter(({ type }) => type === 'command_execution').length, 1);
    // A model name that Codex knows: its tools use namespaces, and one of them accepts JavaScript.
    const known = await ask('gpt-6-sol', 'Say something with a tool.');
    assert.match(saidOf(known) ?? JSON.stringify(known), /^The tool said: .*made by a tool/s);
  },

  async 'responses: errors'() {
    const events = await ask('nobody', 'x');
    assert.match(JSON.stringify(events.findLast(({ type }) => type === 'turn.failed')), /nobody/);
  },
});

import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createTerminal } from '../terminal/terminal.ts';
import { announce, warnUnreachable } from './announce.ts';

describe('announce', () => {
  it('says so when a key of the environment is taken, as a client may have exported it', () => {
    const stdout = new PassThrough();
    const terminal = createTerminal({ stdin: new PassThrough(), stdout, stderr: new PassThrough() });
    const ready = { url: 'http://127.0.0.1:1', models: [], dataFolder: '/data', firstKeys: null };
    announce(ready, { apiKey: 'sk-secret' }, terminal);
    const text = String(stdout.read());
    expect(text).toContain('API key  the value of OFFPEAK_API_KEY');
    expect(text).not.toContain('admin key');
    expect(text).not.toContain('sk-secret');
    expect(text).not.toContain('chat "');
  });

  it.each([
    [{ key: 'sk-a', adminKey: 'sk-b' }, 'These keys are new and shown only once'],
    [{ key: null, adminKey: 'sk-b' }, 'The admin key is new and shown only once'],
    [{ key: 'sk-a', adminKey: null }, 'The API key is new and shown only once'],
  ])('names the keys that are new: %j', (firstKeys, sentence) => {
    const stdout = new PassThrough();
    const terminal = createTerminal({ stdin: new PassThrough(), stdout, stderr: new PassThrough() });
    announce({ url: 'http://127.0.0.1:1', models: [], dataFolder: '/data', firstKeys }, {}, terminal);
    expect(String(stdout.read())).toContain(sentence);
  });

  it.each([
    [['default'], 'offpeak chat "What is the capital of France?"\n', 'results.jsonl\n'],
    [[], '"What is the capital of France?" --model qwen\n', 'results.jsonl --model qwen\n'],
  ])('shows commands that find a model: with the aliases %j', (aliases, chat, batch) => {
    const stdout = new PassThrough();
    const terminal = createTerminal({ stdin: new PassThrough(), stdout, stderr: new PassThrough() });
    const models = [
      { id: 'vectors', aliases: [], serves: ['embeddings'] },
      { id: 'qwen', aliases, serves: ['chat'] },
    ];
    announce({ url: 'http://127.0.0.1:1', models, dataFolder: '/data', firstKeys: null }, {}, terminal);
    const text = String(stdout.read());
    expect(text).toContain(chat);
    expect(text).toContain(batch);
  });
});

it('announces the console, unless it is turned off', () => {
  const shown = (consoleUrl?: string) => {
    const stdout = new PassThrough();
    const terminal = createTerminal({ stdin: new PassThrough(), stdout, stderr: new PassThrough() });
    const ready = { url: 'http://127.0.0.1:1', models: [], dataFolder: '/data', firstKeys: null };
    announce({ ...ready, consoleUrl }, {}, terminal);
    return String(stdout.read());
  };
  expect(shown('http://127.0.0.1:1/console/')).toMatch(/^console +http:\/\/127\.0\.0\.1:1\/console\/$/m);
  expect(shown()).not.toContain('console');
});

describe('announceAway', () => {
  it('warns of each server that takes nothing, in a line', () => {
    const stderr = new PassThrough();
    const terminal = createTerminal({ stdin: new PassThrough(), stdout: new PassThrough(), stderr });
    const away = { model: 'qwen', server: 'gpu-1:8000/v1', message: 'It cannot be\u001b[2J reached.' };
    warnUnreachable(
      [
        { ...away, servers: 1 },
        { ...away, server: 'gpu-2/v1', servers: 3 },
      ],
      terminal,
    );
    const [first, second] = String(stderr.read()).split('\n');
    expect(first).toMatch(
      /^Warning: qwen: It cannot be.* reached \(gpu-1:8000\/v1\)\. Retrying automatically/,
    );
    expect(first).not.toContain('\u001b');
    expect(second).toContain('(gpu-2/v1, one of 3 servers)');
  });
});

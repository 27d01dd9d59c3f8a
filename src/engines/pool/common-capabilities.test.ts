import { describe, expect, it } from 'vitest';
import { createFakeEngine } from '../../../test/support/fake-engine.ts';
import type { Capabilities, Engine } from '../engines.ts';
import { type CapableServer, commonCapabilities } from './common-capabilities.ts';

const offpeak: Capabilities = {
  serves: ['chat', 'embeddings'],
  inputs: ['image', 'audio', 'file'],
  tools: true,
  contextLength: 8192,
  jsonSchema: 'exact',
  forcedTool: 'exact',
  prefixCache: 'shared',
  formats: { messages: 'native', responses: 'native', completions: 'native' },
};
const ollama: Capabilities = {
  ...offpeak,
  inputs: ['image'],
  contextLength: 4096,
  jsonSchema: 'native',
  forcedTool: 'none',
  prefixCache: 'slot',
  formats: { messages: 'native', completions: 'no' },
};

const server = (capabilities: Capabilities, isUnseen = false): CapableServer & { engine: Engine } => ({
  engine: { ...createFakeEngine(), capabilities },
  isUnknown: isUnseen,
});
const common = (...all: Partial<Capabilities>[]) =>
  commonCapabilities(all.map((one) => server({ ...offpeak, ...one })))();

describe('common capabilities of servers of several kinds', () => {
  it('are those that all share, in any order', () => {
    const both = {
      serves: ['chat', 'embeddings'],
      inputs: ['image'],
      tools: true,
      customTools: false,
      contextLength: 4096,
      jsonSchema: 'native',
      forcedTool: 'none',
      prefixCache: 'none',
      formats: { messages: 'native', responses: 'via chat', completions: 'no' },
    };
    expect(common(offpeak, ollama)).toEqual(both);
    expect(common(ollama, offpeak)).toEqual(both);
  });

  it.each([
    [['exact', 'native'], 'native'],
    [['strict', 'strict'], 'strict'],
    [['native', 'strict'], 'filter'],
    [['filter', 'exact'], 'filter'],
    [['strict', 'none'], 'none'],
  ] as const)('forces a tool in a way that all know: %j', (ways, way) => {
    expect(common(...ways.map((forcedTool) => ({ forcedTool }))).forcedTool).toBe(way);
  });

  it('use the smallest reported context length', () => {
    expect(common({ contextLength: null }, { tools: false })).toMatchObject({
      contextLength: 8192,
      tools: false,
    });
    expect(common({ contextLength: null }, { contextLength: null }).contextLength).toBeNull();
    expect(common({ serves: ['chat'] }, {}).serves).toEqual(['chat']);
    expect(common({ jsonSchema: 'none' }, {}).jsonSchema).toBe('none');
  });

  it('ignore servers with unknown capabilities, unless all are unknown', () => {
    const guess = server({ ...ollama, isGuess: true }, true);
    const servers = [server(offpeak), guess];
    const of = commonCapabilities(servers);
    expect(of()).toMatchObject({ jsonSchema: 'exact', forcedTool: 'exact', contextLength: 8192 });
    guess.isUnknown = false;
    expect(of()).toMatchObject({ jsonSchema: 'native', forcedTool: 'none', contextLength: 4096 });
    guess.isUnknown = true;
    servers[0] = guess;
    expect(of()).toMatchObject({ jsonSchema: 'native', forcedTool: 'none' });
  });

  it('are the same object until a server or its capabilities change', () => {
    const servers = [server(offpeak), server(offpeak)];
    const of = commonCapabilities(servers);
    const before = of();
    expect(of()).toBe(before);
    servers[1] = server(ollama);
    expect(of().jsonSchema).toBe('native');
    servers.pop();
    expect(of()).toBe(offpeak);
  });
});

import { describe, expect, it } from 'vitest';
import { loadConfig } from '../config.ts';
import { ConfigError } from './source-value.ts';

const model = '{ id: big, aliases: [large], engine: { kind: scripted } }';

function load(limits: string, more = '') {
  const text = `models: [${model}]\n${more}limits: ${limits}\n`;
  return loadConfig({ env: {}, cwd: '/srv', exists: () => true, readFile: () => text }).limits;
}

function problem(limits: string): string {
  try {
    load(limits);
    return '';
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message;
  }
}

describe('max_slowdown', () => {
  const batchOf = (text: string) => {
    const yaml = `models: [${model}]\nbatch: { max_slowdown: ${text} }\n`;
    return loadConfig({ env: {}, cwd: '/srv', exists: () => true, readFile: () => yaml }).batch;
  };

  it('is a factor', () => {
    expect(batchOf('1.3').maxSlowdown).toBe(1.3);
    expect(batchOf('1').maxSlowdown).toBe(1);
    expect(load('{}')).not.toHaveProperty('maxSlowdown');
  });

  it.each(['0.3', '130'])('is no share and no percentage: %s', (text) => {
    expect(() => batchOf(text)).toThrow(
      new RegExp(`batch.max_slowdown: must be a factor from 1 to 100, not ${text}.*With 1.3`, 's'),
    );
  });
});

describe('queued_tokens', () => {
  it('names models by id or alias, and may be 0', () => {
    expect(load('{ per_org: { queued_tokens: { large: 0 } } }').perOrg.queuedTokens).toEqual({ big: 0 });
  });

  it('of an unknown model is a fault that names it', () => {
    expect(problem('{ per_org: { queued_tokens: { bug: 5 } } }')).toMatch(
      /there is no model 'bug'.*Did you mean 'big'\?/s,
    );
    expect(problem('{ per_key: { queued_tokens: { other: 5 } } }')).toContain("there is no model 'other'");
  });

  it('of a model may belong to another process where a database is shared', () => {
    const shared = load('{ per_org: { queued_tokens: { other: 5 } } }', 'database: postgres://db/offpeak\n');
    expect(shared.perOrg.queuedTokens).toEqual({ other: 5 });
  });

  it('limits a model once', () => {
    expect(problem('{ per_org: { queued_tokens: { big: 5, large: 6 } } }')).toContain(
      "limits the model 'big' twice",
    );
  });
});

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

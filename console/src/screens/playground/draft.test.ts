import { describe, expect, it } from 'vitest';
import { type Draft, emptyDraft, readDraft } from './draft.ts';

const draft = (changes: Partial<Draft> = {}): Draft => ({
  ...emptyDraft,
  turns: [{ id: 0, role: 'user', text: 'Hello' }],
  ...changes,
});
const promptOf = (changes: Partial<Draft>) => readDraft(draft(changes));

describe('readDraft', () => {
  it('leaves out what is empty', () => {
    expect(promptOf({ system: ' ' })).toEqual({
      prompt: {
        system: undefined,
        messages: [{ role: 'user', content: 'Hello' }],
        tools: [],
        schema: undefined,
        temperature: undefined,
        maxTokens: 1024,
        stream: true,
      },
    });
  });

  it.each([
    ['chat', { type: 'function', function: { name: 'f', description: 'd', parameters: { type: 'object' } } }],
    ['responses', { type: 'function', name: 'f', description: 'd', parameters: { type: 'object' } }],
    ['messages', { name: 'f', description: 'd', input_schema: { type: 'object' } }],
  ])('reads tools in the form of %s', (_format, tool) => {
    expect(promptOf({ tools: JSON.stringify([tool]) })).toMatchObject({
      prompt: { tools: [{ name: 'f', description: 'd', parameters: { type: 'object' } }] },
    });
  });

  it.each([
    ['turns', { turns: [{ id: 0, role: 'user', text: ' ' }] }],
    ['turns', { turns: [{ id: 0, role: 'assistant', text: 'Hi' }] }],
    ['tools', { tools: '{' }],
    ['tools', { tools: '[]' }],
    ['tools', { tools: '[{"parameters":{}}]' }],
    ['tools', { tools: '[null]' }],
    ['schema', { schema: '[1]' }],
    ['temperature', { temperature: 'warm' }],
    ['maxTokens', { maxTokens: '0' }],
    ['maxTokens', { maxTokens: '' }],
  ] as const)('names a fault of %s', (field, changes) => {
    const { faults } = promptOf(changes) as { faults: object };
    expect(Object.keys(faults)).toEqual([field]);
  });
});

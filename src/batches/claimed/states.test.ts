import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  after,
  batchMachine,
  chunkMachine,
  followingEvent,
  type LineCounts,
  lineMachine,
  noLines,
} from './states.ts';

type Machine = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Returns a machine as a state diagram of Mermaid. Events between the same states share an arrow. */
function diagram(machine: Machine): string {
  const nameOf = (state: string) => state.replaceAll(' ', '_');
  const lines = [`[*] --> ${nameOf(Object.keys(machine)[0]!)}`];
  for (const [state, events] of Object.entries(machine)) {
    for (const next of new Set(Object.values(events))) {
      const between = Object.keys(events).filter((event) => events[event] === next);
      lines.push(`${nameOf(state)} --> ${nameOf(next)}: ${between.join(', ')}`);
    }
    if (Object.keys(events).length === 0) lines.push(`${nameOf(state)} --> [*]`);
  }
  return ['```mermaid', 'stateDiagram-v2', ...lines.map((line) => `    ${line}`), '```', ''].join('\n');
}

describe('the states of claimed work', () => {
  const page = readFileSync(new URL('../../../docs/design/batch-engine.md', import.meta.url), 'utf8');

  it.each([
    ['line', lineMachine],
    ['chunk', chunkMachine],
    ['batch', batchMachine],
  ])('of a %s are drawn in batch-engine.md', (_, machine) => {
    expect(page).toContain(diagram(machine));
  });

  const count = (change: Partial<LineCounts>) => ({ ...noLines, ...change });

  it('complete a chunk once all its lines have a result', () => {
    expect(followingEvent(count({ done: 3 }), 3)).toBe('complete');
    expect(followingEvent(count({ done: 2, sent: 1 }), 3)).toBeUndefined();
    expect(followingEvent(count({ done: 2, cancelling: 1 }), 3)).toBeUndefined();
    expect(followingEvent(count({ done: 2, returned: 1 }), 3)).toBe('idle');
  });

  it('let an idle chunk go only if it sends no more', () => {
    expect(
      ['open', 'yielding', 'stopping'].map((state) => after<string>(chunkMachine, state, 'idle')),
    ).toEqual([undefined, 'released', 'dropped']);
  });
});

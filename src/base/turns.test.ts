import { expect, it } from 'vitest';
import { Turns } from './turns.ts';

function waiting(...entries: string[]): Turns<string> {
  const turns = new Turns<string>();
  for (const entry of entries) turns.add(entry[0]!, entry);
  return turns;
}

function drained(turns: Turns<string>): string[] {
  const order: string[] = [];
  for (let next = turns.first(); next; next = turns.first()) {
    turns.done(...next);
    order.push(next[1]);
  }
  return order;
}

it('takes one of each owner after the other, and those of one in their order', () => {
  const turns = waiting('a1', 'a2', 'a3', 'b1', 'c1', 'b2');
  expect([turns.count, turns.countOf('a'), turns.countOf('x')]).toEqual([6, 3, 0]);
  expect(drained(turns)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  expect(turns.count).toBe(0);
});

it('costs an owner no turn when one of its entries goes away', () => {
  const turns = waiting('a1', 'a2', 'b1');
  turns.remove('a', 'a1');
  turns.remove('a', 'a1');
  expect(turns.count).toBe(2);
  expect(drained(turns)).toEqual(['a2', 'b1']);
});

it('passes owners that may have nothing now, and never the first of one', () => {
  const turns = waiting('a1', 'a2', 'b1');
  expect(turns.first((owner) => owner !== 'a')).toEqual(['b', 'b1']);
  expect(turns.first((_, entry) => entry === 'a2')).toBeUndefined();
  expect(drained(turns)).toEqual(['a1', 'b1', 'a2']);
});

it('finds the owner with the most entries, and its newest', () => {
  const turns = waiting('a1', 'b1', 'b2', 'c1', 'b3', 'c2');
  expect([turns.longest(), turns.newestOf('b')]).toEqual(['b', 'b3']);
  turns.remove('b', 'b1');
  turns.remove('b', 'b3');
  expect([turns.longest(), turns.newestOf('c')]).toEqual(['c', 'c2']);
  expect([waiting().longest(), turns.newestOf('x')]).toEqual([undefined, undefined]);
});

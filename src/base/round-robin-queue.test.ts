import { expect, it } from 'vitest';
import { RoundRobinQueue } from './round-robin-queue.ts';

function waiting(...entries: string[]): RoundRobinQueue<string> {
  const turns = new RoundRobinQueue<string>();
  for (const entry of entries) turns.add(entry[0]!, entry);
  return turns;
}

function drained(turns: RoundRobinQueue<string>): string[] {
  const order: string[] = [];
  for (let next = turns.peek(); next; next = turns.peek()) {
    turns.dequeue(...next);
    order.push(next[1]);
  }
  return order;
}

it('alternates between owners, and serves the entries of one in order', () => {
  const turns = waiting('a1', 'a2', 'a3', 'b1', 'c1', 'b2');
  expect([turns.size, turns.countFor('a'), turns.countFor('x')]).toEqual([6, 3, 0]);
  expect(drained(turns)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  expect(turns.size).toBe(0);
});

it('keeps the turn of an owner when one of its entries is removed', () => {
  const turns = waiting('a1', 'a2', 'b1');
  turns.remove('a', 'a1');
  turns.remove('a', 'a1');
  expect(turns.size).toBe(2);
  expect(drained(turns)).toEqual(['a2', 'b1']);
});

it('skips owners that may not go now, and never the first entry of an owner', () => {
  const turns = waiting('a1', 'a2', 'b1');
  expect(turns.peek((owner) => owner !== 'a')).toEqual(['b', 'b1']);
  expect(turns.peek((_, entry) => entry === 'a2')).toBeUndefined();
  expect(drained(turns)).toEqual(['a1', 'b1', 'a2']);
});

it('finds the owner with the most entries, and its newest entry', () => {
  const turns = waiting('a1', 'b1', 'b2', 'c1', 'b3', 'c2');
  expect([turns.longestOwner(), turns.newestFor('b')]).toEqual(['b', 'b3']);
  turns.remove('b', 'b1');
  turns.remove('b', 'b3');
  expect([turns.longestOwner(), turns.newestFor('c')]).toEqual(['c', 'c2']);
  expect([waiting().longestOwner(), turns.newestFor('x')]).toEqual([undefined, undefined]);
});

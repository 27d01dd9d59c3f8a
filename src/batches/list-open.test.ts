import { expect, it } from 'vitest';
import type { OpenBatch } from '../store/contract/batches.ts';
import { listPressing } from './list-open.ts';

const batch = (id: string, expiresAt: number) => ({ id, expiresAt }) as OpenBatch;
const open = [batch('d', 1), batch('b', 2), batch('a', 3), batch('c', 4)];
const running = [open[2]!, open[1]!, open[3]!];

const store = {
  listOpen: async (limit: number, after?: { id: string }) => {
    const from = after ? open.findIndex(({ id }) => id === after.id) + 1 : 0;
    return open.slice(from, from + limit);
  },
  listRunning: async (limit: number, after?: string) =>
    running.filter(({ id }) => after === undefined || id > after).slice(0, limit),
};
const ids = async (max: number) => (await listPressing(store, max)).map(({ id }) => id);

it('are all open batches, unless more are open than are judged at a time', async () => {
  expect(await ids(5)).toEqual(['d', 'b', 'a', 'c']);
});

it('are the next to expire, and those in progress', async () => {
  expect(await ids(2)).toEqual(['d', 'b', 'a']);
  expect(await ids(3)).toEqual(['d', 'b', 'a', 'c']);
});

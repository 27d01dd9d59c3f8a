import type { Client } from 'undici';
import { expect, it } from 'vitest';
import { type Connection, ConnectionPool } from './connection-pool.ts';

function setUp(most: number) {
  const destroyed: number[] = [];
  let opened = 0;
  const pool = new ConnectionPool(() => {
    const number = opened++;
    return { destroy: async () => void destroyed.push(number) } as unknown as Client;
  }, most);
  const lent: Connection[] = [];
  const lend = () => pool.lend({ use: (connection) => void lent.push(connection) });
  return { pool, lend, lent, destroyed, numbers: () => lent.map(({ number }) => number) };
}

it('opens what is needed, and uses the oldest that is free', () => {
  const { pool, lend, lent, numbers } = setUp(Infinity);
  for (let n = 0; n < 3; n++) lend();
  expect(numbers()).toEqual([0, 1, 2]);
  for (const at of [1, 2, 0]) pool.takeBack(lent[at]!);
  for (let n = 0; n < 4; n++) lend();
  expect(numbers().slice(3)).toEqual([0, 1, 2, 3]);
});

it('lends what comes back to who has waited longest', async () => {
  const { pool, lent, numbers } = setUp(1);
  const order: string[] = [];
  const borrow = (name: string) =>
    pool.lend({
      use(connection) {
        order.push(name);
        lent.push(connection);
      },
    });
  for (const name of ['a', 'b', 'c']) borrow(name);
  expect(order).toEqual(['a']);
  pool.takeBack(lent[0]!);
  // Whoever gives it back is done first.
  expect(order).toEqual(['a']);
  await Promise.resolve();
  pool.takeBack(lent[1]!);
  await Promise.resolve();
  expect(order).toEqual(['a', 'b', 'c']);
  expect(numbers()).toEqual([0, 0, 0]);
});

it('lends only connections that are destroyed once it is closed', async () => {
  const { pool, lend, lent, destroyed, numbers } = setUp(Infinity);
  lend();
  lend();
  pool.takeBack(lent[1]!);
  await pool.close();
  expect(destroyed).toEqual([0, 1]);
  lend();
  lend();
  expect(numbers()).toEqual([0, 1, 1, 2]);
  expect(destroyed).toEqual([0, 1, 2]);
});

import { describe, expect, it } from 'vitest';
import { createFairGate } from './fair-gate.ts';

const gateOf = (room: number, each: number, mostWaiting = 10) =>
  createFairGate({
    capacity: room,
    maxPerOwner: each,
    maxWaiting: mostWaiting,
    fullError: () => new Error('full'),
  });
const settle = () => new Promise((resolve) => setImmediate(resolve));

/** Enters one after the other and notes who is in. */
function crowd(gate: ReturnType<typeof gateOf>) {
  const inside = new Map<string, () => void>();
  return {
    names: () => [...inside.keys()],
    leave: (name: string) => {
      inside.get(name)!();
      inside.delete(name);
    },
    enter: (name: string, weight = 1, signal?: AbortSignal) =>
      gate.enter(name[0]!, weight, signal).then((leave) => void inside.set(name, leave)),
  };
}

describe('a fair gate', () => {
  it('admits entries that fit, and the next one when one leaves', async () => {
    const { enter, leave, names } = crowd(gateOf(2, 2));
    for (const name of ['a1', 'a2', 'a3']) void enter(name);
    await settle();
    expect(names()).toEqual(['a1', 'a2']);
    leave('a1');
    await settle();
    expect(names()).toEqual(['a2', 'a3']);
  });

  it('reserves capacity for other owners', async () => {
    const { enter, names } = crowd(gateOf(4, 2));
    for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'c2']) void enter(name);
    await settle();
    expect(names()).toEqual(['a1', 'a2', 'b1', 'c1']);
  });

  it('alternates between owners, however many entries of one wait', async () => {
    const { enter, leave, names } = crowd(gateOf(1, 1));
    for (const name of ['a1', 'a2', 'a3', 'b1', 'c1']) void enter(name);
    const order: string[] = [];
    for (let n = 0; n < 5; n++) {
      await settle();
      const [name] = names();
      order.push(name!);
      leave(name!);
    }
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3']);
  });

  it('does not let light entries overtake a heavy one', async () => {
    const { enter, leave, names } = crowd(gateOf(4, 4));
    void enter('a1', 3);
    void enter('b1', 4);
    void enter('c1', 1);
    await settle();
    expect(names()).toEqual(['a1']);
    leave('a1');
    await settle();
    expect(names()).toEqual(['b1']);
  });

  it('admits an entry heavier than the capacity alone', async () => {
    const { enter, leave, names } = crowd(gateOf(4, 2));
    void enter('a1', 9);
    void enter('b1', 1);
    await settle();
    expect(names()).toEqual(['a1']);
    leave('a1');
    await settle();
    expect(names()).toEqual(['b1']);
  });

  it('drops an aborted entry and admits those behind it', async () => {
    const { enter, names } = crowd(gateOf(4, 4));
    void enter('a1', 3);
    const gone = new AbortController();
    const left = enter('b1', 4, gone.signal);
    void enter('c1', 1);
    gone.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    await settle();
    expect(names()).toEqual(['a1', 'c1']);
    await expect(enter('d1', 1, gone.signal)).rejects.toThrow('gone');
  });

  it('rejects when too many entries of one owner wait, and counts a release once', async () => {
    const gate = gateOf(1, 1, 1);
    const leave = await gate.enter('a', 1);
    void gate.enter('a', 1);
    await expect(gate.enter('a', 1)).rejects.toThrow('full');
    expect(gate.tryEnter('b', 1)).toBeUndefined();
    leave();
    leave();
    expect(gate.tryEnter('b', 1)).toBeUndefined();
  });

  it('lets the priority owner go first, and another after three of its turns', async () => {
    const { enter, leave, names } = crowd(
      createFairGate({ capacity: 1, maxPerOwner: 1, priorityOwner: 'p' }),
    );
    for (const name of ['a0', 'a1', 'a2', 'p1', 'p2', 'p3', 'p4', 'p5', 'p6']) void enter(name);
    const order: string[] = [];
    for (let n = 0; n < 9; n++) {
      await settle();
      const [name] = names();
      order.push(name!);
      leave(name!);
    }
    expect(order).toEqual(['a0', 'p1', 'p2', 'p3', 'a1', 'p4', 'p5', 'p6', 'a2']);
  });
});

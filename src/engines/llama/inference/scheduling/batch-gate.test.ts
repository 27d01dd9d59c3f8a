import { expect, test } from 'vitest';
import { type BatchShare, createBatchGate } from './batch-gate.ts';

const oneTurn = () => new Promise((resolve) => setImmediate(resolve));
/** Finished work is reported in the same turn, and the gate opens in the next. */
const turn = () => oneTurn().then(oneTurn);
const { signal } = new AbortController();
const token: BatchShare = { tokens: 1, priority: 'batch', signal };

/** A gate, the names of who is in the batch, and a way to give one of them its result. */
function opened(size = 8) {
  const gate = createBatchGate(size);
  const inside = new Map<string, () => void>();
  return {
    names: () => [...inside.keys()],
    enter: (name: string, share: BatchShare = token): Promise<void> =>
      gate.evaluate(
        share,
        () =>
          new Promise((resolve) => {
            inside.set(name, resolve);
          }),
      ),
    finish: (...names: string[]): void => {
      for (const name of names) {
        inside.get(name)!();
        inside.delete(name);
      }
    },
  };
}

test('it opens for all evaluations of one turn, and for others after they are done', async () => {
  const { enter, finish, names } = opened();
  void enter('a');
  void enter('b');
  await turn();
  void enter('late');
  finish('a');
  await turn();
  expect(names()).toEqual(['b']);
  finish('b');
  await turn();
  expect(names()).toEqual(['late']);
});

test('an evaluation requested on a result joins the next batch with the others', async () => {
  const { enter, finish, names } = opened();
  const first = ['a', 'b', 'c'].map(async (name) => {
    await enter(name);
    void enter(`${name} again`);
  });
  await turn();
  finish('a');
  await turn();
  finish('b', 'c');
  await Promise.all(first);
  await turn();
  expect(names()).toEqual(['a again', 'b again', 'c again']);
});

test('a batch takes single tokens first, then interactive prompts, then others', async () => {
  const { enter, finish, names } = opened(8);
  void enter('prompt', { tokens: 6, priority: 'batch', signal });
  void enter('short prompt', { tokens: 2, priority: 'batch', signal });
  void enter('urgent prompt', { tokens: 5, priority: 'interactive', signal });
  void enter('token');
  await turn();
  expect(names()).toEqual(['token', 'urgent prompt', 'short prompt']);
  finish('token', 'urgent prompt', 'short prompt');
  await turn();
  expect(names()).toEqual(['prompt']);
});

test('a prompt of a line that interactive prompts passed sixteen times has its turn', async () => {
  const { enter, finish, names } = opened(8);
  void enter('prompt', { tokens: 8, priority: 'batch', signal });
  const urgent: BatchShare = { tokens: 8, priority: 'interactive', signal };
  const order: string[] = [];
  void enter('urgent 0', urgent);
  for (let n = 1; n <= 18; n++) {
    await turn();
    const [name] = names();
    order.push(name!);
    void enter(`urgent ${n}`, urgent);
    finish(name!);
  }
  expect(order.indexOf('prompt')).toBe(16);
});

test('an evaluation larger than a batch runs alone', async () => {
  const { enter, names } = opened(8);
  void enter('huge', { tokens: 20, priority: 'batch', signal });
  void enter('prompt', { tokens: 2, priority: 'batch', signal });
  await turn();
  expect(names()).toEqual(['huge']);
});

test('a failure frees its share like a result', async () => {
  const gate = createBatchGate(8);
  await expect(gate.evaluate(token, () => Promise.reject(new Error('no memory')))).rejects.toThrow(
    'no memory',
  );
  expect(await gate.evaluate(token, () => Promise.resolve('done'))).toBe('done');
});

test('an evaluation aborted while it waits does not run', async () => {
  const gate = createBatchGate(8);
  const gone = new AbortController();
  const waiting = gate.evaluate({ ...token, signal: gone.signal }, () => Promise.resolve('evaluated'));
  gone.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  expect(await gate.evaluate(token, () => Promise.resolve('done'))).toBe('done');
});

test('only a completed evaluation counts as a step', async () => {
  let steps = 0;
  const gate = createBatchGate(8, () => steps++);
  await gate.evaluate(token, () => Promise.resolve());
  expect(steps).toBe(1);
  await expect(gate.evaluate(token, () => Promise.reject(new Error('no memory')))).rejects.toThrow(
    'no memory',
  );
  expect(steps).toBe(1);
});

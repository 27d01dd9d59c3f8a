import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CallPieces } from './call-pieces.ts';

interface Entry {
  index?: number;
  id?: string | null;
  name?: string;
  args?: unknown;
}

type Told = [id: string, name: string, args: string];

/** The calls that a client puts together, by the rules of the official client: what comes for one index is added up. */
function callsIn(deltas: Entry[][], isCut = false): Told[] {
  let made = 0;
  const pieces = new CallPieces(() => `new_${++made}`);
  const calls: Told[] = [];
  const sent = deltas.flatMap((entries) =>
    pieces.add(
      entries.map(({ index, id, name, args }) => ({
        ...(index !== undefined && { index }),
        ...(id !== undefined && { id }),
        function: { ...(name !== undefined && { name }), ...(args !== undefined && { arguments: args }) },
      })),
    ),
  );
  for (const { index, id, function: called } of [...sent, ...pieces.end(isCut)]) {
    if (!calls[index]) expect([calls.length, id === undefined]).toEqual([index, false]);
    const call = (calls[index] ??= [id!, '', '']);
    call[1] += called?.name ?? '';
    call[2] += called?.arguments ?? '';
  }
  return calls;
}

/** Deltas of one entry each. */
const alone = (...entries: Entry[]) => callsIn(entries.map((entry) => [entry]));

const a: Told = ['a', 'f', '{"p":"a"}'];
const b: Told = ['b', 'f', '{"p":"b"}'];
const head = (id: string, index?: number): Entry => ({
  ...(index !== undefined && { index }),
  id,
  name: 'f',
  args: '',
});

describe('pieces of tool calls', () => {
  it('belong to the newest call where their index is unknown', () => {
    expect(alone(head('a', 0), { index: 0, args: a[2] }, head('b', 0), { index: 1, args: b[2] })).toEqual([
      a,
      b,
    ]);
    const cut = [
      { index: 1, args: '{"p":' },
      { index: 1, args: '"b"}' },
    ];
    expect(alone(head('a', 0), { index: 0, args: a[2] }, head('b', 0), ...cut)).toEqual([a, b]);
  });

  it('belong to the call of their id, whatever their index', () => {
    const begin = (id: string, index: number) => ({ ...head(id, index), args: '{"p":' });
    const end = (id: string, index: number) => ({ index, id, args: `"${id}"}` });
    expect(alone(begin('a', 0), begin('b', 1), end('b', 0), end('a', 0))).toEqual([a, b]);
    expect(alone(begin('a', 0), begin('b', 0), end('a', 7), end('b', 0))).toEqual([a, b]);
  });

  it('make one call of an id, a name and arguments that arrive one after the other', () => {
    expect(alone({ index: 0, id: 'a' }, { index: 0, name: 'f' }, { index: 0, args: a[2] })).toEqual([a]);
    expect(alone({ id: 'a' }, { name: 'f' }, { args: a[2] })).toEqual([a]);
    expect(alone({ index: 0, id: 'a' }, { index: 1, name: 'f' }, { index: 1, args: a[2] })).toEqual([a]);
    expect(
      alone(
        { index: 0, id: 'a' },
        { index: 0, name: 'f' },
        { index: 0, args: a[2] },
        { index: 0, id: 'b' },
        { index: 0, name: 'f', args: '{"p"' },
        { index: 0, args: ':"b"}' },
      ),
    ).toEqual([a, b]);
  });

  it('make one call of arguments that arrive before the name', () => {
    expect(
      alone({ index: 0, id: 'a', args: '{"p"' }, { index: 0, name: 'f' }, { index: 0, args: ':"a"}' }),
    ).toEqual([a]);
  });

  it.each([
    [
      'with the id once',
      [
        { index: 0, id: 'a', name: 'read' },
        { index: 0, name: '_file' },
      ],
    ],
    [
      'with the id each time',
      [
        { index: 0, id: 'a', name: 'read' },
        { index: 0, id: 'a', name: '_file' },
      ],
    ],
    [
      'without an index',
      [
        { id: 'a', name: 'read', args: '' },
        { name: '_file', args: '' },
      ],
    ],
  ])('add up a name that comes in pieces, %s', (_, entries) => {
    expect(alone(...entries, { args: '{}' })).toEqual([['a', 'read_file', '{}']]);
    expect(alone(...entries)).toEqual([['a', 'read_file', '{}']]);
  });

  it('keep a name that every piece repeats', () => {
    const piece = (args: string) => ({ ...head('a', 0), args });
    expect(alone(piece(''), piece('{"p":'), piece('"a"}'), piece(''))).toEqual([a]);
  });

  it.each<[string, Entry[][]]>([
    ['without an index', [[head('a')], [{ args: a[2] }], [head('b')], [{ args: b[2] }]]],
    [
      'with the index 0',
      [[head('a', 0)], [{ index: 0, args: a[2] }], [head('b', 0)], [{ index: 0, args: b[2] }]],
    ],
    [
      'with an index that is null',
      [[{ ...head('a'), index: null as never, args: a[2] }], [{ ...head('b'), args: b[2] }]],
    ],
    [
      'in one delta',
      [
        [
          { ...head('a', 0), args: a[2] },
          { ...head('b', 1), args: b[2] },
        ],
      ],
    ],
    [
      'in one delta, without an index',
      [
        [
          { ...head('a'), args: a[2] },
          { ...head('b'), args: b[2] },
        ],
      ],
    ],
    [
      'in deltas of all, without an index',
      [
        [head('a'), head('b')],
        [{ args: a[2] }, { args: b[2] }],
      ],
    ],
    [
      'with arguments that are objects',
      [[{ ...head('a', 0), args: { p: 'a' } }], [{ ...head('b', 0), args: { p: 'b' } }]],
    ],
    [
      'with arguments that are null first',
      [
        [{ ...head('a', 0), args: null }],
        [{ index: 0, args: a[2] }],
        [{ ...head('b', 1), args: null }],
        [{ index: 1, args: b[2] }],
      ],
    ],
  ])('are told apart %s', (_, deltas) => {
    expect(callsIn(deltas)).toEqual([a, b]);
  });

  it.each([null, ''])('get a new id where theirs is %j', (id) => {
    const entries = [
      { index: 0, id, name: 'f', args: '{"p":' },
      { index: 0, id, args: '"a"}' },
      { index: 1, id, name: 'g', args: '{}' },
    ];
    expect(alone(...entries)).toEqual([
      ['new_1', 'f', a[2]],
      ['new_2', 'g', '{}'],
    ]);
  });

  it('get unique ids where the server gives one to all', () => {
    const entries = [
      { ...head('x', 0), args: a[2] },
      { ...head('x', 1), args: b[2] },
    ];
    expect(alone(...entries)).toEqual([
      ['x', 'f', a[2]],
      ['new_1', 'f', b[2]],
    ]);
  });

  it('survive ids that change with every piece', () => {
    expect(alone({ ...head('a', 0), args: '{"p"' }, { index: 0, id: 'z', args: ':"a"}' })).toEqual([a]);
    const named = (id: string, args: string) => ({ ...head(id, 0), args });
    expect(alone(named('a', '{"p"'), named('y', ':'), named('z', '"a"}'), named('b', b[2]))).toEqual([a, b]);
  });

  it('end with an empty object for a tool without parameters, unless the answer was cut', () => {
    const deltas = [[head('a', 0)], [head('b', 1)]];
    expect(callsIn(deltas)).toEqual([
      ['a', 'f', '{}'],
      ['b', 'f', '{}'],
    ]);
    expect(callsIn(deltas, true)).toEqual([
      ['a', 'f', ''],
      ['b', 'f', ''],
    ]);
  });

  it('are skipped where empty, and rejected without a name', () => {
    expect(callsIn([[{ index: 0 }], [{}]])).toEqual([]);
    expect(() => alone({ index: 0, id: 'a', args: '{}' })).toThrow('without a name');
  });

  const call = fc.record({
    names: fc.uniqueArray(fc.stringMatching(/^[a-z]{1,4}$/), { minLength: 1, maxLength: 3 }),
    args: fc.array(fc.string({ minLength: 1, maxLength: 5 }), { maxLength: 6 }),
  });

  it('make whole calls in any mix, as long as their ids are right', () => {
    fc.assert(
      fc.property(
        fc.array(call, { minLength: 1, maxLength: 5 }),
        fc.infiniteStream(fc.nat()),
        fc.infiniteStream(fc.option(fc.nat(3), { nil: undefined })),
        (calls, choices, indexes) => {
          const queues = calls.map(({ names, args }, at) => {
            const id = `call_${at}`;
            return [
              // Equal pieces are a name that is repeated.
              ...names.map((name, part): Entry => ({ id, name: `${name}${part}` })),
              ...args.map((each): Entry => ({ id, args: each })),
            ];
          });
          const deltas: Entry[][] = [];
          for (;;) {
            const open = queues.filter((queue) => queue.length > 0);
            if (open.length === 0) break;
            const queue = open[choices.next().value! % open.length]!;
            deltas.push([{ ...queue.shift()!, index: indexes.next().value as number }]);
          }
          const expected = calls.map(({ names, args }, at): Told => [
            `call_${at}`,
            names.map((name, part) => `${name}${part}`).join(''),
            args.join('') || '{}',
          ]);
          const byId = (one: Told, other: Told) => one[0].localeCompare(other[0]);
          expect(callsIn(deltas).toSorted(byId)).toEqual(expected);
        },
      ),
    );
  });
});

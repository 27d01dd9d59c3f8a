import type { LookupAddress } from 'node:dns';
import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts';
import { createSteadyLookup } from './steady-lookup.ts';

const first = [
  { address: '10.0.0.1', family: 4 },
  { address: 'fd00::1', family: 6 },
];
const second = [{ address: '10.0.0.2', family: 4 }];
const failure = (code: string) => Object.assign(new Error(code), { code });

let clock: ManualClock;
/** Look-ups of the system that a test has not answered yet. */
let open: { host: string; answer: (found: LookupAddress[] | Error) => void }[];
let asked: number;
let lookup: ReturnType<typeof createSteadyLookup>;
beforeEach(() => {
  clock = createManualClock();
  open = [];
  asked = 0;
  lookup = createSteadyLookup(clock, (host, _options, callback) => {
    asked++;
    open.push({
      host,
      answer: (found) => (found instanceof Error ? callback(found, []) : callback(null, found)),
    });
  });
});

const find = (host = 'engine.test') =>
  new Promise((resolve) =>
    lookup(host, { all: true }, (error, addresses) => resolve(error ? error.code : addresses)),
  );
const answer = (found: LookupAddress[] | Error) => open.shift()!.answer(found);
const turn = () => new Promise((resolve) => setImmediate(resolve));

async function known() {
  const found = find();
  answer(first);
  await found;
}

describe('a look-up', () => {
  it('is shared by concurrent connections, and repeated for the next', async () => {
    const found = [find(), find(), find('other.test')];
    expect(open.map(({ host }) => host)).toEqual(['engine.test', 'other.test']);
    answer(first);
    answer(second);
    expect(await Promise.all(found)).toEqual([first, first, second]);
    const again = find();
    answer(second);
    expect(await again).toEqual(second);
  });

  it('returns one address if one is requested', async () => {
    const found = new Promise((resolve) =>
      lookup('engine.test', {}, (_, address, family) => resolve([address, family])),
    );
    answer(first);
    expect(await found).toEqual(['10.0.0.1', 4]);
  });

  it('that is late returns the last known addresses, at once while it stays late', async () => {
    await known();
    const late = find();
    await clock.advance(999);
    let isThere = false;
    void late.then(() => (isThere = true));
    await turn();
    expect(isThere).toBe(false);
    await clock.advance(1);
    expect([await late, await find(), asked]).toEqual([first, first, 2]);
    // The late address becomes the one that the next look-up falls back to.
    answer(second);
    await turn();
    const next = find();
    await clock.advance(1_000);
    expect(await next).toEqual(second);
  });

  it('is awaited if no address is known', async () => {
    const found = find();
    await clock.advance(60_000);
    answer(first);
    expect(await found).toEqual(first);
  });

  it.each(['EAI_AGAIN', 'EAI_FAIL', 'ETIMEOUT'])(
    'that fails with %s returns the last known addresses',
    async (code) => {
      await known();
      const found = find();
      answer(failure(code));
      expect(await found).toEqual(first);
    },
  );

  it('of a host that no longer exists fails, as does a first look-up without success', async () => {
    const never = find();
    answer(failure('EAI_AGAIN'));
    expect(await never).toBe('EAI_AGAIN');
    await known();
    const gone = find();
    answer(failure('ENOTFOUND'));
    expect(await gone).toBe('ENOTFOUND');
  });
});

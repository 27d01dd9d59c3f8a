import { describe, expect, it } from 'vitest';
import type { Clock } from '../base/clock.ts';
import { Admission, type BatchFloor } from './admission.ts';

function manualClock() {
  let t = 0;
  const clock: Clock = { now: () => t, monotonic: () => t, arrival: () => t, after: () => ({ cancel() {} }) };
  return { clock, advance: (ms: number) => (t += ms) };
}

const pool = (slots: number) => ({
  slots,
  maxInFlight: withHeadroom(slots),
  maxLines: Infinity,
  linesGiveWay: false,
  waiting: null,
});
const noFloor = { usual: 0, atRisk: 0 };
const withHeadroom = (slots: number) => slots + Math.ceil(slots / 8);

describe('Admission', () => {
  it('fills all slots and an eighth more without interactive calls', () => {
    const { clock } = manualClock();
    expect(new Admission(pool(64), clock).room).toBe(72);
    expect(new Admission(pool(1), clock).room).toBe(2);
  });

  it('keeps an eighth free, and a slot for each interactive call, while someone is', () => {
    const { clock } = manualClock();
    const admission = new Admission(pool(64), clock);
    const leave = admission.enter('interactive');
    expect(admission.room).toBe(55);
    leave();
    expect(admission.room).toBe(56);
  });

  it('fills all slots as soon as no interactive call is in flight, where lines give way', () => {
    const { clock } = manualClock();
    const announced: number[] = [];
    const giving = { ...pool(64), linesGiveWay: true, maxLines: 72 };
    const admission = new Admission(giving, clock, noFloor, () => announced.push(admission.interactive));
    const leave = admission.enter('interactive');
    admission.enter('interactive')();
    expect([admission.room, announced]).toEqual([55, [1]]);
    giving.maxLines = 20;
    expect(admission.room).toBe(20);
    leave();
    expect(admission.room).toBe(20);
    giving.maxLines = 72;
    expect(admission.room).toBe(72);
  });

  it('keeps no slot free that lines give back within 10 ms, except for one', () => {
    const { clock, advance } = manualClock();
    const admission = new Admission(pool(64), clock);
    admission.enter('interactive');
    /** The room once many lines have taken so long, beside one interactive call. */
    const roomAfter = (lineMs: number) => {
      for (let line = 0; line < 2_000; line++) {
        const leave = admission.enter('batch');
        advance(lineMs);
        leave(true);
        admission.enter('batch')();
      }
      return admission.room;
    };
    expect(roomAfter(60_000)).toBe(55);
    expect(roomAfter(155), 'four are back in 10 ms').toBe(59);
    expect(roomAfter(50), 'thirteen are').toBe(62);
    expect(roomAfter(0)).toBe(62);
    expect(roomAfter(30_000), 'the mean forgets').toBe(55);
  });

  it('gives batches an only slot while no interactive call uses it, without a floor', () => {
    const { clock } = manualClock();
    const admission = new Admission(pool(1), clock, noFloor);
    const leave = admission.enter('interactive');
    expect(admission.room).toBe(0);
    leave();
    expect(admission.room).toBe(1);
  });

  it('takes the kept slots back ten seconds after the last interactive call', () => {
    const { clock, advance } = manualClock();
    const admission = new Admission(pool(64), clock);
    admission.enter('interactive')();
    advance(9_999);
    expect(admission.room).toBe(56);
    advance(1);
    expect(admission.room).toBe(72);
  });

  it('counts its own lines, and shares with other processes', () => {
    const { clock } = manualClock();
    const admission = new Admission(pool(64), clock);
    admission.setPeers(8, 2);
    expect(admission.room).toBe(24);
    const leave = admission.enter('batch');
    expect(admission.room).toBe(23);
    leave();
    leave();
    expect(admission.room).toBe(24);
  });

  it('keeps to the lines that are leased to it', () => {
    const { clock } = manualClock();
    const admission = new Admission(pool(64), clock);
    admission.lease(20);
    expect(admission.room).toBe(20);
    admission.setPeers(0, 10);
    admission.enter('batch');
    expect(admission.room).toBe(19);
    admission.lease(0);
    expect(admission.room).toBe(-1);
    admission.lease(null);
    expect(admission.room).toBe(6);
  });

  it('tries servers that take nothing by itself, whatever is leased', () => {
    const { clock } = manualClock();
    const waiting = { scope: 'replica', code: 'upstream_unreachable', message: 'x', since: 0 } as const;
    const admission = new Admission(
      { slots: 64, maxInFlight: 1, maxLines: 1, linesGiveWay: false, waiting },
      clock,
    );
    admission.setPeers(0, 10);
    admission.lease(0);
    expect(admission.room).toBe(1);
  });

  it('leaves every process one line while there is room at all, however many share the slots', () => {
    const { clock } = manualClock();
    const admission = new Admission(pool(1), clock, noFloor);
    admission.setPeers(0, 5);
    expect(admission.room).toBe(1);
    admission.enter('batch');
    expect(admission.room).toBe(0);
    admission.setPeers(1, 5);
    expect(admission.room).toBeLessThan(0);
  });

  describe('the floor of batches', () => {
    const busy = (slots: number, floor?: BatchFloor) => {
      const admission = new Admission(pool(slots), manualClock().clock, floor);
      for (let call = 0; call < slots * 10; call++) admission.enter('interactive');
      return admission;
    };

    it('is a sixteenth of the slots, and at least one, under any interactive load', () => {
      expect([1, 4, 16, 31, 64, 100].map((slots) => busy(slots).room)).toEqual([1, 1, 1, 1, 4, 6]);
      expect(busy(64).guaranteed).toBe(4);
    });

    it('is a quarter while a batch is at risk', () => {
      const admission = busy(64);
      admission.setAtRisk(true);
      expect([admission.room, admission.guaranteed]).toEqual([16, 16]);
      admission.setAtRisk(false);
      expect(admission.room).toBe(4);
    });

    it('is what the operator wants, or none', () => {
      expect(busy(64, { usual: 0.5, atRisk: 0.25 }).room).toBe(32);
      const none = busy(64, { usual: 0, atRisk: 0.25 });
      expect([none.room < 0, none.guaranteed]).toEqual([true, 0]);
      none.setAtRisk(true);
      expect(none.room).toBe(16);
    });

    it('counts the lines in flight, and is that of all processes together', () => {
      const admission = busy(64);
      admission.enter('batch');
      expect(admission.room).toBe(3);
      expect(admission.limit).toBe(4);
      admission.lease(2);
      expect([admission.room, admission.guaranteed]).toEqual([1, 2]);
      admission.lease(0);
      expect([admission.room, admission.guaranteed]).toEqual([-1, 0]);
    });

    it('sends nothing to servers that take nothing', () => {
      const down = new Admission(
        { slots: 64, maxInFlight: 0, maxLines: Infinity, linesGiveWay: false, waiting: null },
        manualClock().clock,
      );
      down.enter('interactive');
      expect([down.room, down.limit]).toEqual([0, 0]);
    });
  });
});

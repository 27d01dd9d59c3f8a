import { describe, expect, it } from 'vitest';
import { createManualClock } from '../../../../test/support/manual-clock.ts';
import type { SentRequest } from '../concurrency/measurement.ts';
import { maxYields, SlowdownLimit, type SlowdownLimitOptions } from './slowdown-limit.ts';

const never = new AbortController().signal;

function limitOf(options: Partial<SlowdownLimitOptions> = {}) {
  const clock = createManualClock();
  let rooms = 0;
  const limit = new SlowdownLimit({
    maxSlowdown: 1.3,
    clock,
    floor: () => 1,
    limit: () => 64,
    isSearching: () => false,
    onRoom: () => rooms++,
    ...options,
  });
  const send = (isLine: boolean, others = 0): SentRequest => {
    const sent = { at: clock.monotonic(), inFlight: 0, load: 0, measurement: null };
    limit.sent(sent, isLine, others);
    return sent;
  };
  const line = (times = 0, others = 0) => {
    const sent = send(true, others);
    return { sent, call: limit.yielding(sent, never, times) };
  };
  /** Shows the curve of a server on which 64 requests take 1.64 times as long as one. */
  const learn = async () => {
    for (const inFlight of [1, 16, 32, 64]) {
      const sent = Array.from({ length: inFlight }, () => send(true));
      await clock.advance(12 + 0.12 * inFlight);
      for (const one of sent) {
        if (sent.indexOf(one) < 8) limit.answered(one, 12 + 0.12 * inFlight, 1);
      }
      for (let n = sent.length; n < 4; n++) limit.answered(sent[0]!, 12 + 0.12 * inFlight, 1);
      for (const one of sent) limit.left(one);
    }
  };
  return { limit, clock, send, line, learn, rooms: () => rooms };
}

describe('SlowdownLimit', () => {
  it('makes the newest lines give way at once when an interactive request arrives', async () => {
    const { limit, send, line, learn } = limitOf();
    await learn();
    const lines = Array.from({ length: 64 }, () => line());
    expect(limit.hasRoom).toBe(true);
    send(false);
    const kept = lines.filter(({ call }) => !call!.hasGivenWay).length;
    // 1 + 0.8 x 0.3 times the pace of one request.
    expect(kept).toBeGreaterThanOrEqual(22);
    expect(kept).toBeLessThanOrEqual(25);
    expect(lines.slice(0, kept).every(({ call }) => !call!.hasGivenWay)).toBe(true);
    expect(lines.slice(kept).every(({ call }) => call!.signal.aborted)).toBe(true);
    expect(limit).toMatchObject({ hasRoom: false, isHoldingBack: true, maxLines: kept, gaveWay: 64 - kept });
  });

  it('keeps a line that gave way often, and the floor', async () => {
    const { limit, send, line, learn } = limitOf({ maxSlowdown: 1, floor: () => 4 });
    await learn();
    const often = Array.from({ length: 8 }, () => line(maxYields));
    const lines = Array.from({ length: 8 }, () => line());
    send(false);
    expect(often.every(({ call }) => call === null)).toBe(true);
    expect(lines.every(({ call }) => call!.hasGivenWay)).toBe(true);
    for (const { sent } of often.slice(0, 5)) limit.left(sent);
    expect(limit.hasRoom).toBe(true);
    line();
    expect(limit.hasRoom).toBe(false);
  });

  it('lets lines return some time after the last interactive request', async () => {
    const { limit, clock, send, line, learn, rooms } = limitOf();
    await learn();
    for (let n = 0; n < 64; n++) line();
    const [first, second] = [send(false), send(false)];
    limit.left(first);
    await clock.advance(60_000);
    expect(limit.hasRoom).toBe(false);
    limit.left(second);
    expect([limit.hasRoom, rooms()]).toEqual([false, 0]);
    await clock.advance(20_000);
    expect([limit.hasRoom, limit.maxLines, rooms() > 0]).toEqual([true, Infinity, true]);
    expect(limit.hasHeldBack(clock.monotonic() - 60_000)).toBe(true);
    expect(limit.hasHeldBack(clock.monotonic())).toBe(false);
  });

  it('lets a few lines return at a time, until the next interactive request', async () => {
    const { limit, clock, send, line, learn } = limitOf();
    await learn();
    const lines = Array.from({ length: 64 }, () => line());
    limit.left(send(false));
    const kept = lines.filter(({ call }) => !call!.hasGivenWay).length;
    while (!limit.hasRoom) await clock.advance(50);
    const fill = () => {
      let sent = 0;
      for (; limit.hasRoom && sent < 64; sent++) line();
      return sent;
    };
    expect(fill()).toBe(4);
    await clock.advance(250);
    expect(fill()).toBe(4);
    expect(limit.isHoldingBack).toBe(true);
    const next = send(false);
    expect(limit).toMatchObject({ hasRoom: false, maxLines: kept });
    limit.left(next);
    await clock.advance(20_000);
    expect([fill(), limit.isHoldingBack]).toEqual([64, false]);
  });

  it('runs fewer lines while it is unknown how much they slow down interactive requests', async () => {
    const { limit, clock, send, line, learn } = limitOf();
    for (let n = 0; n < 64; n++) line();
    const sent = send(false);
    expect(limit.maxLines).toBe(26);
    limit.left(sent);
    await clock.advance(8_000);
    await learn();
    send(false);
    expect(limit.maxLines).toBeLessThan(26);
  });

  it('leaves a server whose slots are to be discovered enough lines for that', () => {
    const { limit, send } = limitOf({ isSearching: () => true, limit: () => 24 });
    send(false);
    expect(limit.maxLines).toBe(16);
  });

  it('makes room in the slots, and changes nothing for a few requests more', () => {
    const { limit, send, line } = limitOf({ maxSlowdown: 100, limit: () => 8 });
    const lines = Array.from({ length: 9 }, () => line());
    send(false);
    const gaveWay = () => lines.filter(({ call }) => call!.hasGivenWay).length;
    expect(gaveWay()).toBe(5);
    send(false);
    expect([gaveWay(), limit.hasRoom]).toEqual([5, false]);
  });

  it('divides the lines among processes as they divide them without interactive requests', async () => {
    const { limit, send, line, learn } = limitOf();
    await learn();
    const lines = Array.from({ length: 16 }, () => line(0, 48));
    send(false, 48);
    const kept = lines.filter(({ call }) => !call!.hasGivenWay).length;
    expect(kept).toBe(Math.ceil(limit.maxLines / 4));
    // Lines that wait for a place count: the share stays.
    expect(limit.hasRoom).toBe(false);
  });

  it('makes lines give way to interactive requests of other processes', async () => {
    const { limit, clock, line, learn } = limitOf();
    await learn();
    const lines = Array.from({ length: 64 }, () => line());
    limit.share(0, 2);
    const kept = lines.filter(({ call }) => !call!.hasGivenWay).length;
    expect(kept).toBe(limit.maxLines);
    limit.share(0, 1);
    limit.share(0, 0);
    expect(limit.hasRoom).toBe(false);
    await clock.advance(8_000);
    expect(limit.hasRoom).toBe(true);
  });

  it('passes on why the caller of a line gave up', () => {
    const { limit, send } = limitOf();
    const controller = new AbortController();
    const call = limit.yielding(send(true), controller.signal, 0)!;
    const reason = new Error('cancelled');
    controller.abort(reason);
    expect(call.signal.reason).toBe(reason);
    expect(call.hasGivenWay).toBe(false);
    call.end();
  });

  it('lets nothing give way without a limit', async () => {
    const { limit, send, learn } = limitOf({ maxSlowdown: Infinity });
    await learn();
    const sent = send(true);
    expect(limit.yielding(sent, never, 0)).toBeNull();
    send(false);
    expect(limit).toMatchObject({ hasRoom: true, maxLines: Infinity });
    expect(limit.current).toBeCloseTo(1, 1);
  });
});
